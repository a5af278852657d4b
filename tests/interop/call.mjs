// Connects with one of the official clients, lists the tools and runs one command; prints one JSON object.
//   node call.mjs sdk|client-auto|client-modern|client-legacy URL KEY LABEL
const [, , flavour, url, key, label] = process.argv;

async function connect() {
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  const about = { name: 'interop', version: '1.0.0' };
  if (flavour === 'sdk') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client(about);
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const mode = { 'client-auto': 'auto', 'client-legacy': 'legacy', 'client-modern': { pin: '2026-07-28' } }[flavour];
  const client = new Client(about, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

const client = await connect();
const { tools } = await client.listTools();
const result = await client.callTool({
  name: 'run_command',
  arguments: { sandbox: label, command: 'echo "hello from $(uname -s)"; exit 3' },
});
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), text: result.content[0].text, isError: result.isError ?? false }));
await client.close();
