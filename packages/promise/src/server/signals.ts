/** SIGINT and SIGTERM for programs that only serve: the server closes, then the signal has its usual effect. */

const signals = ["SIGINT", "SIGTERM"] as const

/** Closes at the first signal and raises it again. The function takes that back. */
export const onSignals = (close: () => Promise<void>): (() => void) => {
  const stop = (): void => {
    for (const signal of signals) process.off(signal, handlers[signal])
  }
  const handler = (signal: NodeJS.Signals) => (): void => {
    stop()
    const again = (): boolean => process.kill(process.pid, signal)
    close().then(again, again)
  }
  const handlers = { SIGINT: handler("SIGINT"), SIGTERM: handler("SIGTERM") }
  for (const signal of signals) process.once(signal, handlers[signal])
  return stop
}
