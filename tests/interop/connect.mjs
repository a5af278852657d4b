// Connects one of the official clients, and calls a tool with it as its own kind wants to be called.
export async function connect(flavour, url, key) {
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

export function runCommand(client, flavour, sandbox, command, options) {
  const params = { name: 'run_command', arguments: { sandbox, command } };
  return flavour === 'sdk' ? client.callTool(params, undefined, options) : client.callTool(params, options);
}
