/** SIGINT and SIGTERM handling for programs that only serve. The server closes, and then the signal has its usual effect. */

const signals = ["SIGINT", "SIGTERM"] as const

/** Closes on the first signal, then raises the signal again. Call the returned function to stop handling signals. */
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
