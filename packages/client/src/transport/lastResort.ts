/**
 * The last resort against orphans: when this process exits without closing its scopes (`process.exit`, an uncaught exception), the
 * children that are still there are killed. One listener, however many children.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

const children = new Set<number>()

const kill = (pid: number): void => {
  try {
    // The child leads a process group of its own, except on Windows.
    globalThis.process.kill(globalThis.process.platform === "win32" ? pid : -pid, "SIGKILL")
  } catch {
    // It is gone already.
  }
}
const onExit = (): void => children.forEach(kill)

/** Kills `pid` if this process exits before the scope closes. */
export const exitWithParent = (pid: number): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        if (children.size === 0) globalThis.process?.on("exit", onExit)
        children.add(pid)
      }),
      () =>
        Effect.sync(() => {
          children.delete(pid)
          if (children.size === 0) globalThis.process?.off("exit", onExit)
        })
    )
  )
