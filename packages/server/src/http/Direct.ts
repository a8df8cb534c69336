/**
 * Server-sent events written straight to a response of Node's: no stream, and no fiber, for what waits most of the time.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Events } from "./Events.ts"

const ignored = (): void => {}

/** Calls back when the response is over: written, or cut off. Maybe more than once. */
export const whenOver = (request: IncomingMessage, response: ServerResponse, over: () => void): void => {
  response.on("close", over)
  // Behind another one of its connection: nobody tells it that this was lost.
  if (response.socket === null) request.socket.on("close", over)
}

/** Writes all of them, as fast as the other side reads, to a response whose head was written. */
export const pipe = ({ flow, pulse }: Events, response: ServerResponse): void => {
  // Something else ended it, and unheard that would end the process.
  response.on("error", ignored)
  response.on("drain", flow.drive(pulse, response))
}
