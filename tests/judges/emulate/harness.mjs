// Starts emulate's Slack as a judge of ours: `PACKAGE` is its folder, `SEED` its seed (JSON), `PORT` and `INNER` two free ports.
// What the package lacks is added from outside: a way to say where events go (PUT /events), and a front for arguments in the
// query, where slack_sdk puts those of reads. Says "ready" when it listens; ends with its standard input.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const { PACKAGE, SEED, PORT, INNER } = process.env;
const dist = path.join(PACKAGE, 'dist');
const load = name => import(pathToFileURL(path.join(dist, name)));
const isSlack = name => name.endsWith('.js') && /export \{[^}]*slackPlugin/s.test(fs.readFileSync(path.join(dist, name), 'utf8'));

let events;
const { slackPlugin } = await load(fs.readdirSync(dist).find(isSlack));
const register = slackPlugin.register.bind(slackPlugin);
slackPlugin.register = (app, store, webhooks, ...rest) => {
  events = webhooks;
  return register(app, store, webhooks, ...rest);
};
const { createEmulator } = await load('api.js');
await createEmulator({ service: 'slack', port: +INNER, seed: { slack: JSON.parse(SEED) } });

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

async function forwarded(request, body) {
  const url = new URL(request.url, `http://127.0.0.1:${INNER}`);
  const headers = { ...request.headers };
  for (const name of ['content-length', 'host', 'connection']) delete headers[name];
  if (url.search && !body.length) {
    body = url.search.slice(1);
    url.search = '';
    headers['content-type'] = 'application/x-www-form-urlencoded';
  }
  const answer = await fetch(url, { method: 'POST', headers, body });
  return [answer.status, answer.headers.get('content-type') ?? '', Buffer.from(await answer.arrayBuffer())];
}

async function handle(request) {
  const body = await read(request);
  if (request.url === '/events') {
    if (request.method === 'PUT') events.register({ url: body.toString(), events: ['*'], active: true, owner: 'slack' });
    return [200, 'application/json', JSON.stringify(events.getDeliveries())];
  }
  return forwarded(request, body);
}

http
  .createServer(async (request, response) => {
    const [status, type, body] = await handle(request);
    response.writeHead(status, { 'content-type': type }).end(body);
  })
  .listen(+PORT, '127.0.0.1', () => console.log('ready'));
process.stdin.on('end', () => process.exit()).resume();
