/** The process id of a connection's backend, as the server, or a pooler in front of it, reported it at the start. */
export function processIdOf(client: object): number | null {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : null;
}
