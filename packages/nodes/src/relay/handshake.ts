/**
 * Lets two nodes prove to each other that they know the shared secret, without sending it.
 *
 * The connecting node sends a random number. The other node replies with its proof and another random number. The connecting node then
 * sends its own proof.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { createHmac, timingSafeEqual } from "node:crypto"
import type { Socket } from "node:net"

const greeting = Buffer.from("mcp-relay-1\n")
const random = 32
const proof = 32

/** Time limit in milliseconds. */
export const patience = 1000

/** The other end did not prove that it knows the secret. */
export class Unproven extends Data.TaggedError("Unproven")<{ readonly message: string }> {}

const proofOf = (secret: string, role: string, first: Buffer, second: Buffer): Buffer =>
  createHmac("sha256", secret).update(role).update(first).update(second).digest()

const number = (): Buffer => Buffer.from(crypto.getRandomValues(new Uint8Array(random)))

/** Reads the next bytes from a socket, and puts back any bytes after them. Fails if the socket closes or the time limit passes. */
const read = (socket: Socket, length: number): Effect.Effect<Buffer, Unproven> =>
  Effect.callback((resume) => {
    const take = (): void => {
      const bytes: Buffer | null = socket.read(length)
      if (bytes === null) return
      stop()
      resume(
        bytes.length === length
          ? Effect.succeed(bytes)
          : Effect.fail(new Unproven({ message: "The connection was closed" }))
      )
    }
    const closed = (): void => {
      stop()
      resume(
        Effect.fail(new Unproven({ message: "The connection was closed. Check that all nodes share the same secret" }))
      )
    }
    const late = setTimeout(() => {
      stop()
      resume(Effect.fail(new Unproven({ message: `The handshake took longer than ${patience} ms` })))
    }, patience)
    const stop = (): void => {
      clearTimeout(late)
      socket.off("readable", take).off("close", closed)
    }
    socket.on("readable", take).on("close", closed)
    take()
    return Effect.sync(stop)
  })

const checked = (given: Buffer, expected: Buffer): Effect.Effect<void, Unproven> =>
  timingSafeEqual(given, expected)
    ? Effect.void
    : Effect.fail(new Unproven({ message: "The other end does not know the shared secret" }))

/** The connecting node's part of the handshake. */
export const greet = (socket: Socket, secret: string): Effect.Effect<void, Unproven> =>
  Effect.suspend(() => {
    const own = number()
    socket.write(Buffer.concat([greeting, own]))
    return Effect.flatMap(read(socket, random + proof), (answer) => {
      const theirs = answer.subarray(0, random)
      return Effect.andThen(
        checked(answer.subarray(random), proofOf(secret, "answers", own, theirs)),
        Effect.sync(() => void socket.write(proofOf(secret, "asks", theirs, own)))
      )
    })
  })

/** The accepting node's part of the handshake. */
export const welcome = (socket: Socket, secret: string): Effect.Effect<void, Unproven> =>
  Effect.flatMap(read(socket, greeting.length + random), (hello) => {
    if (!hello.subarray(0, greeting.length).equals(greeting))
      return Effect.fail(new Unproven({ message: "The other end is not a node" }))
    const theirs = hello.subarray(greeting.length)
    const own = number()
    socket.write(Buffer.concat([own, proofOf(secret, "answers", theirs, own)]))
    return Effect.flatMap(read(socket, proof), (given) => checked(given, proofOf(secret, "asks", own, theirs)))
  })
