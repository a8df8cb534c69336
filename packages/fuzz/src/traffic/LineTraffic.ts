/** Checks the traffic of one client and one server over stdio. */
import { linesOf } from "../model/lines.ts"
import { Conversation, type Options } from "./Conversation.ts"

/** Splits bytes into lines. */
export const lines = (take: (line: string) => void) => {
  const decoder = new TextDecoder()
  const feed = linesOf(take)
  return (chunk: Uint8Array): void => feed(decoder.decode(chunk, { stream: true }))
}

export class LineTraffic {
  private readonly conversation: Conversation
  private isOver = false
  private isInputOver = false
  /** Call with the client's bytes before forwarding them. */
  readonly sent: (chunk: Uint8Array) => void
  /** Call with the server's bytes. */
  readonly received: (chunk: Uint8Array) => void

  constructor(options: Omit<Options, "transport">, onMessage: () => void) {
    const conversation = new Conversation({ ...options, transport: "stdio" })
    this.conversation = conversation
    this.sent = lines((text) => {
      onMessage()
      conversation.note("client", text)
      conversation.sent(text)
    })
    this.received = lines((text) => {
      onMessage()
      conversation.note("server", text)
      conversation.received(text)
    })
  }

  /** Call when the client has closed the server's input. */
  inputEnded(): void {
    this.isInputOver = true
  }

  /** Call when the server has exited. `how` contains its exit code. */
  exited(how: string): void {
    this.finish(() =>
      this.conversation.observe(this.isInputOver ? { _tag: "Closed", exited: true } : { _tag: "Gone", how })
    )
  }

  /** Call when the server is still running long after its input was closed. */
  stillRuns(): void {
    this.finish(() => this.conversation.observe({ _tag: "Closed", exited: false }))
  }

  /** Stops checking traffic. */
  end(): void {
    this.finish(() => {})
  }

  private finish(last: () => void): void {
    if (this.isOver) return
    this.isOver = true
    last()
    this.conversation.end()
  }
}
