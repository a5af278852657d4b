// The official SDK's server with a session a client and two trivial tools: what the bench measures against.
//   node rival.mjs PORT
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const transports = new Map();

async function begin() {
  const server = new McpServer({ name: 'rival', version: '1.0.0' });
  const text = (said) => ({ content: [{ type: 'text', text: said }] });
  server.registerTool('echo', { description: 'Say it again', inputSchema: { text: z.string() } }, async ({ text: said }) => text(said));
  server.registerTool('about', { description: 'Who is there', inputSchema: {} }, async () => text('rival 1.0.0'));
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await server.connect(transport);
  return transport;
}

http
  .createServer(async (request, response) => {
    const transport = transports.get(request.headers['mcp-session-id']) ?? (await begin());
    await transport.handleRequest(request, response);
  })
  .listen(Number(process.argv[2]), '127.0.0.1');
