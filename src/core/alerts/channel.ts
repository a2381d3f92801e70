/** Where messages go, with its secrets. `ping` is told of runs, all others of alerts. */
export type AlertChannel =
  | { readonly name: string; readonly type: 'slack' | 'teams' | 'alertmanager' | 'ping'; readonly url: string }
  | { readonly name: string; readonly type: 'webhook'; readonly url: string; readonly secret: string | null }
  | { readonly name: string; readonly type: 'exec'; readonly program: string; readonly args: readonly string[] };
