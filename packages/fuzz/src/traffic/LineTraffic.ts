/** What one client and one server say to each other over stdio. */
import { linesOf } from "../model/lines.ts"
import { Conversation, type Options } from "./Conversation.ts"

/** Takes bytes apart into lines. */
export const lines = (take: (line: string) => void) => {
  const decoder = new TextDecoder()
  const feed = linesOf(take)
  return (chunk: Uint8Array): void => feed(decoder.decode(chunk, { stream: true }))
}

export class LineTraffic {
  private readonly conversation: Conversation
  private isOver = false
  private isInputOver = false
  /** Bytes of the client, before they are passed on. */
  readonly sent: (chunk: Uint8Array) => void
  /** Bytes of the server. */
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

  /** The client has ended the input of the server. */
  inputEnded(): void {
    this.isInputOver = true
  }

  /** The server exited; `how` says with which code. */
  exited(how: string): void {
    this.finish(() =>
      this.conversation.observe(this.isInputOver ? { _tag: "Closed", exited: true } : { _tag: "Gone", how })
    )
  }

  /** The server runs on, though its input ended long enough ago. */
  stillRuns(): void {
    this.finish(() => this.conversation.observe({ _tag: "Closed", exited: false }))
  }

  /** Nothing more is judged. */
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
