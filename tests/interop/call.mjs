// Connects with one of the official clients, lists the tools and runs one command; prints one JSON object.
//   node call.mjs sdk|client-auto|client-modern|client-legacy URL KEY LABEL
import { connect, runCommand } from './connect.mjs';

const [, , flavour, url, key, label] = process.argv;
const client = await connect(flavour, url, key);
const { tools } = await client.listTools();
const result = await runCommand(client, flavour, label, 'echo "hello from $(uname -s)"; exit 3');
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), text: result.content[0].text, isError: result.isError ?? false }));
await client.close();
