/** Calls the admin endpoint below the page. The tab keeps the token and sends it only with the page's own requests. */
import type { Ended, Figures, Message, Recent, Snapshot } from "../../admin/Admin.ts"

/** The endpoint rejected the request. `status` is 0 if it could not be reached. */
export class RequestRefused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Result of interrupting one request. */
export interface InterruptOutcome {
  readonly key: string
  readonly outcome: "interrupted" | "ended" | "unreachable"
}

/** Maximum number of keys that the endpoint accepts at once. */
const keysAtMost = 500

const kept = "effect-mcp-console-token"

export const token = {
  get: (): string => sessionStorage.getItem(kept) ?? "",
  set: (value: string): void => sessionStorage.setItem(kept, value),
  forget: (): void => sessionStorage.removeItem(kept)
}

const errorOf = async (response: Response): Promise<string> => {
  const body: unknown = await response.json().catch(() => undefined)
  const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined
  return typeof error === "string" ? error : `The admin endpoint responded with status ${response.status}`
}

export class Api {
  private readonly base: string

  constructor(base: string) {
    this.base = base
  }

  private async ask(
    path: string,
    init: Omit<RequestInit, "headers"> = {},
    headers: Readonly<Record<string, string>> = {}
  ): Promise<Response> {
    let response: Response
    try {
      response = await fetch(`${this.base}${path}`, {
        ...init,
        headers: { ...headers, authorization: `Bearer ${token.get()}` },
        credentials: "omit",
        redirect: "error",
        cache: "no-store"
      })
    } catch (error) {
      throw new RequestRefused(0, error instanceof Error ? error.message : "Cannot reach the admin endpoint")
    }
    if (!response.ok) throw new RequestRefused(response.status, await errorOf(response))
    return response
  }

  /** Returns the token's rights. */
  async access(): Promise<{ readonly right: "see" | "steer"; readonly history: boolean }> {
    return (await this.ask("/access")).json()
  }

  async figures(): Promise<Figures> {
    return (await this.ask("/metrics")).json()
  }

  async history(session: string | undefined): Promise<ReadonlyArray<Ended>> {
    const query = session === undefined ? "" : `?session=${encodeURIComponent(session)}`
    const { ended }: { readonly ended: ReadonlyArray<Ended> } = await (await this.ask(`/history${query}`)).json()
    return ended
  }

  /** Returns the last 15 minutes, with the samples after `since`. */
  async recent(since: number): Promise<Recent> {
    return (await this.ask(`/recent?since=${since}`)).json()
  }

  /** Returns the messages from the last minute, starting with the first look. */
  async messages(session: string): Promise<ReadonlyArray<Message>> {
    const response = await this.ask(`/messages?session=${encodeURIComponent(session)}`)
    const { messages }: { readonly messages: ReadonlyArray<Message> } = await response.json()
    return messages
  }

  private post(path: string, body: object): Promise<Response> {
    return this.ask(path, { method: "POST", body: JSON.stringify(body) }, { "content-type": "application/json" })
  }

  async interrupt(keys: ReadonlyArray<string>, reason: string): Promise<ReadonlyArray<InterruptOutcome>> {
    const all: Array<InterruptOutcome> = []
    for (let i = 0; i < keys.length; i += keysAtMost) {
      const response = await this.post("/interrupt-all", { keys: keys.slice(i, i + keysAtMost), reason })
      const { outcomes }: { readonly outcomes: ReadonlyArray<InterruptOutcome> } = await response.json()
      all.push(...outcomes)
    }
    return all
  }

  async level(session: string, level: string): Promise<void> {
    await this.post("/level", { session, level })
  }

  /** Returns false if it had already started. */
  async drain(node: string | undefined): Promise<boolean> {
    const { began }: { readonly began: boolean } = await (await this.post("/drain", { node })).json()
    return began
  }

  /** Calls back with each snapshot until the endpoint closes the stream or the signal aborts it. */
  async follow(onSnapshot: (snapshot: Snapshot) => void, signal: AbortSignal): Promise<void> {
    const { body } = await this.ask("/changes", { signal })
    if (body === null) return
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ""
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (rest + value).split("\n")
      rest = lines.pop() ?? ""
      // A page that lags behind only draws the latest snapshot.
      const last = lines.findLast((line) => line !== "")
      if (last !== undefined) onSnapshot(JSON.parse(last))
    }
  }
}
