// Runs a command without end with one of the official clients, and cancels it at the first word of its progress; prints that word
// and how the call ended, as one JSON object. The client stays until its input ends: what ends the command must be the cancelling.
//   node cancel.mjs sdk|client-auto|client-modern|client-legacy URL KEY LABEL
import { connect, runCommand } from './connect.mjs';

const [, , flavour, url, key, label] = process.argv;
const client = await connect(flavour, url, key);
const person = new AbortController();
const heard = [];
const onprogress = (progress) => {
  heard.push(progress.message);
  person.abort(new Error('the person changed their mind'));
};
const ended = await runCommand(client, flavour, label, 'echo begun; sleep 1234', { onprogress, signal: person.signal }).then(
  (result) => JSON.stringify(result), (error) => `cancelled: ${error.message}`);
console.log(JSON.stringify({ heard: heard[0], ended }));
for await (const _ of process.stdin);
await client.close();
