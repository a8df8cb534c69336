/**
 * The last resort against orphaned processes: kills the child processes if this process exits without closing its scopes (`process.exit`,
 * an uncaught exception). One listener serves all of them.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

const children = new Set<number>()

const kill = (pid: number): void => {
  try {
    // The child leads a process group, except on Windows.
    globalThis.process.kill(globalThis.process.platform === "win32" ? pid : -pid, "SIGKILL")
  } catch {
    // The process has exited already.
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
