/**
 * Transports of the SDK: objects that a server or client connects to. The SDK's interface for transports that programs write, and an
 * in-memory pair.
 */
import type { MessageExtra } from "../request/MessageExtra.ts"

/** A transport that a program writes. Its messages are JSON-RPC. */
export interface Transport {
  start(): Promise<void>
  send(message: object, options?: object): Promise<void>
  close(): Promise<void>
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // oxlint-disable-next-line typescript/no-explicit-any -- transports of each SDK version declare their own message types
  onmessage?: ((message: any, extra?: any) => void) | undefined
  sessionId?: string | undefined
}

/** One end of an in-memory pair. */
export class InMemoryTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: object, extra?: MessageExtra) => void) | undefined
  sessionId?: string | undefined
  #other: InMemoryTransport | undefined
  #waiting: Array<readonly [message: object, extra: MessageExtra]> = []

  /** Creates two linked ends. Each receives the messages that the other sends. */
  static createLinkedPair(): [InMemoryTransport, InMemoryTransport] {
    const [one, other] = [new InMemoryTransport(), new InMemoryTransport()]
    one.#other = other
    other.#other = one
    return [one, other]
  }

  async start(): Promise<void> {
    for (const waiting of this.#waiting.splice(0)) this.onmessage?.(...waiting)
  }

  /** Pass `authInfo` to show the other end's handlers as the authenticated caller. */
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
