/** Calls a listener whose errors must not stop the work: its caller throws the first one once the work has ended. */
export function deferErrors<Event>(listener: (event: Event) => void) {
  let thrown: { readonly error: unknown } | null = null;
  return {
    onProgress(event: Event): void {
      try {
        listener(event);
      } catch (error) {
        thrown ??= { error };
      }
    },
    /** @throws the first error of the listener */
    rethrow(): void {
      if (thrown !== null) throw thrown.error;
    },
  };
}
