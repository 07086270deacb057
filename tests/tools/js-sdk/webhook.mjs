// The webhook receiver. In: pushes. Out: 204, or 401 while `refuses` is set.
import { createServer } from 'node:http';
import { listen } from './proxy.mjs';

export async function webhook(port) {
  const state = { refuses: false };
  state.server = await listen(
    createServer((req, res) => {
      req.resume();
      req.on('end', () => {
        if (!state.refuses) {
          res.writeHead(204).end();
          return;
        }
        const words = JSON.stringify({ error: 'invalid token' });
        res
          .writeHead(401, { 'content-type': 'application/json', 'www-authenticate': 'Bearer error="invalid_token"' })
          .end(words);
      });
    }),
    port,
  );
  return state;
}
