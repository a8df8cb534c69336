/**
 * Transports as the SDK has them: an object that a server or client is connected to. The SDK's own interface, for transports of a
 * program, and a pair in memory.
 */
import type { MessageExtra } from "../request/MessageExtra.ts"

/** A transport of a program: messages are JSON-RPC. */
export interface Transport {
  start(): Promise<void>
  send(message: object, options?: object): Promise<void>
  close(): Promise<void>
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // oxlint-disable-next-line typescript/no-explicit-any -- transports of both versions of the SDK say what a message is in their own types
  onmessage?: ((message: any, extra?: any) => void) | undefined
  sessionId?: string | undefined
}

/** One end of a pair in memory. */
export class InMemoryTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: object, extra?: MessageExtra) => void) | undefined
  sessionId?: string | undefined
  #other: InMemoryTransport | undefined
  #waiting: Array<readonly [message: object, extra: MessageExtra]> = []

  /** Two ends: what one sends, the other receives. */
  static createLinkedPair(): [InMemoryTransport, InMemoryTransport] {
    const [one, other] = [new InMemoryTransport(), new InMemoryTransport()]
    one.#other = other
    other.#other = one
    return [one, other]
  }

  async start(): Promise<void> {
    for (const waiting of this.#waiting.splice(0)) this.onmessage?.(...waiting)
  }

  /** `authInfo`: what the handler of the other end knows of the caller. */
  async send(message: object, { authInfo }: Pick<MessageExtra, "authInfo"> = {}): Promise<void> {
    const other = this.#other
    if (other === undefined) throw new Error("The transport is closed")
    if (other.onmessage === undefined) other.#waiting.push([message, { authInfo }])
    else other.onmessage(message, { authInfo })
  }

  async close(): Promise<void> {
    const other = this.#other
    this.#other = undefined
    await other?.close()
    this.onclose?.()
  }
}
