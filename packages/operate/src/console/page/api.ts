/** The admin endpoint below the page. The token is kept by the tab, and sent by no request that the page does not make. */
import type { Ended, Figures, Message, Snapshot } from "../../admin/Admin.ts"

/** The endpoint has refused: `status` 0 where it could not be reached. */
export class RequestRefused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const kept = "effect-mcp-console-token"

export const token = {
  get: (): string => sessionStorage.getItem(kept) ?? "",
  set: (value: string): void => sessionStorage.setItem(kept, value),
  forget: (): void => sessionStorage.removeItem(kept)
}

const errorOf = async (response: Response): Promise<string> => {
  const body: unknown = await response.json().catch(() => undefined)
  const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined
  return typeof error === "string" ? error : `The endpoint answered with ${response.status}`
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
      throw new RequestRefused(0, error instanceof Error ? error.message : "The endpoint cannot be reached")
    }
    if (!response.ok) throw new RequestRefused(response.status, await errorOf(response))
    return response
  }

  /** What the token allows. */
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

  /** Those of the last minute, from the first look on. */
  async messages(session: string): Promise<ReadonlyArray<Message>> {
    const response = await this.ask(`/messages?session=${encodeURIComponent(session)}`)
    const { messages }: { readonly messages: ReadonlyArray<Message> } = await response.json()
    return messages
  }

  private post(path: string, body: object): Promise<Response> {
    return this.ask(path, { method: "POST", body: JSON.stringify(body) }, { "content-type": "application/json" })
  }

  /** False where it had ended meanwhile. */
  async interrupt(key: string, reason: string): Promise<boolean> {
    const { interrupted }: { readonly interrupted: boolean } = await (
      await this.post("/interrupt", { key, reason })
    ).json()
    return interrupted
  }

  async level(session: string, level: string): Promise<void> {
    await this.post("/level", { session, level })
  }

  /** False where it had begun already. */
  async drain(node: string | undefined): Promise<boolean> {
    const { began }: { readonly began: boolean } = await (await this.post("/drain", { node })).json()
    return began
  }

  /** Calls with each snapshot until the endpoint ends the stream, or the signal aborts it. */
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
      // A page that lags behind draws the last only.
      const last = lines.findLast((line) => line !== "")
      if (last !== undefined) onSnapshot(JSON.parse(last))
    }
  }
}
