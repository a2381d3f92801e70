import request from 'undici/lib/api/api-request.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import { default as UndiciPool } from 'undici/lib/dispatcher/pool.js';

// Does the same as the package's main module, whose import costs 80 ms and 13 MiB at every start because it also loads
// fetch, caches, mocks and WebSocket.
Object.assign(Dispatcher.prototype, { request });

export const Pool = UndiciPool;
