/** Records errors that would end the process. */
import { vi } from "@effect/vitest"
import { onTestFinished } from "vitest"

/** Unhandled rejections and uncaught exceptions while the test runs. Each would end the process. */
export const fatal = (): (() => Promise<ReadonlyArray<unknown>>) => {
  const found: Array<unknown> = []
  const note = (error: unknown): void => void found.push(error)
  const others = (["unhandledRejection", "uncaughtException"] as const).map((event) => {
    const listeners = process.rawListeners(event)
    process.removeAllListeners(event)
    process.on(event, note)
    return () => {
      process.off(event, note)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node types raw listeners as functions of any kind
      for (const listener of listeners) process.on(event, listener as () => void)
    }
  })
  onTestFinished(() => others.forEach((restore) => restore()))
  // Node reports rejections after the microtasks, at the latest in the second turn of the event loop.
  const turn = () => new Promise<void>((resolve) => void setImmediate(resolve))
  return async () => {
    await turn()
    await turn()
    return found
  }
}

export const boom = (): never => {
  throw new Error("boom")
}

/** Captures the lines on stderr while the test runs. */
export const quiet = (): ReadonlyArray<string> => {
  const lines: Array<string> = []
  const spy = vi.spyOn(console, "error").mockImplementation((...parts) => void lines.push(parts.join(" ")))
  onTestFinished(() => spy.mockRestore())
  return lines
}
