/**
 * Each server's running requests. Used to find the callers that a server's question belongs to, because most transports don't say which
 * request a question is about.
 */
import type { CallerInfo } from "./Caller.ts"

const continuing: ReadonlySet<string> = new Set(["tasks/get", "tasks/result", "tasks/update"])

/** True if a request with this method continues a call that became a task. */
export const continuesCall = (method: string): boolean => continuing.has(method)

export class Work {
  private readonly byServer = new Map<string, Set<CallerInfo>>()

  /** Records a running request. Returns a function that records its end. */
  begin(server: string, caller: CallerInfo): () => void {
    const running = this.byServer.get(server) ?? new Set()
    // The same caller may have several requests.
    const entry = { ...caller }
    this.byServer.set(server, running.add(entry))
    return () => {
      running.delete(entry)
      if (running.size === 0 && this.byServer.get(server) === running) this.byServer.delete(server)
    }
  }

  /** Returns the callers with a running request on the server: for each conversation, the one with the greatest depth. */
  callers(server: string): ReadonlyArray<CallerInfo> {
    const deepest = new Map<unknown, CallerInfo>()
    for (const caller of this.byServer.get(server) ?? []) {
      const found = deepest.get(caller.conversation)
      if (found === undefined || found.depth < caller.depth) deepest.set(caller.conversation, caller)
    }
    return [...deepest.values()]
  }
}
