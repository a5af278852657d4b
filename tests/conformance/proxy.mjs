// Stands before a gateway and adds the access key, which the conformance suite can't send. Host and Origin stay as they came.
//   node proxy.mjs GATEWAY_PORT KEY      prints its own port
import http from 'node:http';

const [, , port, key] = process.argv;

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${key}` };
  const options = { host: '127.0.0.1', port, method: request.method, path: request.url, headers };
  const onward = http.request(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  // A client that closes its stream cancels its call.
  response.on('close', () => onward.destroy());
  request.pipe(onward);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
