/** Rejections that would end the process. */
import { onTestFinished } from "@effect/vitest"

/** Returns the reasons of rejections that nothing handles, until the test ends. */
export const unhandled = (): Array<unknown> => {
  const reasons: Array<unknown> = []
  const heard = (reason: unknown) => void reasons.push(reason)
  const others = process.listeners("unhandledRejection")
  process.removeAllListeners("unhandledRejection")
  process.on("unhandledRejection", heard)
  onTestFinished(() => {
    process.removeAllListeners("unhandledRejection")
    for (const other of others) process.on("unhandledRejection", other)
  })
  return reasons
}

/** Waits a macrotask: rejections without a handler are reported before it. */
export const reported = () => new Promise<void>((resolve) => setImmediate(resolve))
