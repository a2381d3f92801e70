const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 };

export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return SIGNAL_CODES[signal] ?? 1;
}
