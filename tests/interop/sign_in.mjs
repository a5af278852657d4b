// An official client signs in by OAuth, runs one command, and once more after its access token has been taken from it.
//   node sign_in.mjs sdk|client-auto|client-modern|client-legacy URL LABEL
// Prints the address for the person's browser on a line of its own and reads where the browser came back to; then one JSON object.
import { createInterface } from 'node:readline/promises';

const [, , flavour, url, label] = process.argv;
const redirect = 'http://127.0.0.1:33418/callback';

// What a client keeps, in memory; and the person's browser, at the other end of our output and input.
class Provider {
  redirectUrl = redirect;
  clientMetadata = {
    client_name: `interop ${flavour}`,
    redirect_uris: [redirect],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  refreshes = -1;
  state = () => 'a-state';
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.saved;
  saveTokens = (tokens) => { this.saved = tokens; this.refreshes += 1; };
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  redirectToAuthorization = (address) => console.log(address.toString());
}

async function library() {
  if (flavour !== 'sdk') {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const mode = { 'client-auto': 'auto', 'client-legacy': 'legacy', 'client-modern': { pin: '2026-07-28' } }[flavour];
    const finish = (transport, back) => transport.finishAuth(back.searchParams);
    return { Client, Transport: StreamableHTTPClientTransport, options: { versionNegotiation: { mode } }, finish };
  }
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const finish = (transport, back) => transport.finishAuth(back.searchParams.get('code'));
  return { Client, Transport: StreamableHTTPClientTransport, options: {}, finish };
}

const { Client, Transport, options, finish } = await library();
const provider = new Provider();

async function connect() {
  const client = new Client({ name: 'interop', version: '1.0.0' }, options);
  const transport = new Transport(new URL(url), { authProvider: provider });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (provider.saved) throw error;
  }
  const lines = createInterface({ input: process.stdin });
  const { value } = await lines[Symbol.asyncIterator]().next();
  lines.close();
  await finish(transport, new URL(value));
  return connect();
}

async function run(client, command) {
  const result = await client.callTool({ name: 'run_command', arguments: { sandbox: label, command } });
  return result.content[0].text;
}

const client = await connect();
const first = await run(client, 'echo signed in');
provider.saved = { ...provider.saved, access_token: 'at-expired' };
const second = await run(client, 'echo refreshed');
console.log(JSON.stringify({ first, second, refreshes: provider.refreshes, scope: provider.saved.scope }));
await client.close();
