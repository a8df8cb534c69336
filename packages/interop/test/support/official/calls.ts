/**
 * How the suites use an official client: calls as effects, notifications as they arrive, answers as the test chooses.
 */
import { type Cause, Effect, PubSub } from "effect"
import { type Notification, Official, type OfficialClient, type Question } from "../official.ts"

export const using = <A>(f: (client: OfficialClient) => Promise<A>): Effect.Effect<A, Cause.UnknownError, Official> =>
  Effect.flatMap(Official, ({ client }) => Effect.tryPromise(() => f(client)))

export const call = (name: string, args?: object) => using((client) => client.callTool(name, args))

/** The code of the protocol error that a promise was rejected with. */
export const failure = <A>(effect: Effect.Effect<A, Cause.UnknownError, Official>) =>
  Effect.map(Effect.flip(effect), ({ cause }) => ({
    code: (cause as { readonly code?: unknown }).code,
    message: (cause as Error).message
  }))

export const answering = (question: Question, f: (params: any) => any) =>
  Effect.map(Official, ({ answers }) => void answers.set(question, f))

/**
 * Subscribes to notifications now. The returned effect waits for a match, and returns it with the notifications before it.
 */
export const listening = Effect.map(
  Effect.flatMap(Official, ({ notifications }) => PubSub.subscribe(notifications)),
  (subscription) =>
    (fits: (notification: Notification) => boolean): Effect.Effect<ReadonlyArray<Notification>> =>
      Effect.gen(function* () {
        const seen: Array<Notification> = []
        for (;;) {
          const next = yield* PubSub.take(subscription)
          seen.push(next)
          if (fits(next)) return seen
        }
      })
)
export const updated = (uri: string) => (notification: Notification) =>
  notification.method === "notifications/resources/updated" && notification.params.uri === uri
