/**
 * URL elicitations, which the user completes outside the protocol (spec 2025-11-25: client/elicitation, URL mode).
 *
 * Tracks the open IDs and ignores completions with any other ID. If the server rejects a request until certain URLs are visited (-32042),
 * the request is resent once the user has accepted every URL and the server has announced that they are complete.
 */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import type { Elicitation } from "@effect-mcp/core/Elicitation"
import * as McpError from "@effect-mcp/protocol/McpError"
import {
  UrlElicitationRequiredData,
  type ElicitParams,
  type ElicitResult
} from "@effect-mcp/protocol/model/Elicitation"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import * as ElicitationChecks from "./ElicitationChecks.ts"
import { Hub } from "../internal/Hub.ts"

type UrlParams = Extract<ElicitParams, { readonly mode: "url" }>

/** Maximum number of remembered ids, because an elicitation may never be completed. */
const maxOpen = 1024
const decode = Schema.decodeUnknownEffect(UrlElicitationRequiredData)

/** True if the revision announces completions, and rejects requests until URLs are visited. */
export const areTold = ({ serverNotifications }: Revision): boolean =>
  "notifications/elicitation/complete" in serverNotifications

export class UrlElicitations {
  private readonly open = new BoundedMap<string, Deferred.Deferred<void>>(maxOpen)
  private readonly hub = new Hub<string>()
  private readonly service: Elicitation["Service"] | undefined
  private readonly timeout: Duration.Input

  /** `timeout` limits the wait for the URLs of one rejected request. */
  constructor(service: Elicitation["Service"] | undefined, timeout: Duration.Input) {
    this.service = service
    this.timeout = timeout
  }

  /** Ids of URL elicitations that the server announces as complete. */
  get completions(): Stream.Stream<string> {
    return this.hub.stream(maxOpen)
  }

  /** Handles an announcement from the server. Ignores unknown and completed ids. */
  complete(id: string): void {
    const done = this.open.get(id)
    if (done === undefined) return
    this.open.delete(id)
    Deferred.doneUnsafe(done, Effect.void)
    this.hub.publish(id)
  }

  close(): void {
    this.hub.close(Exit.void)
  }

  /** Starts waiting for the completion of this id. */
  expect(id: string): Deferred.Deferred<void> {
    const known = this.open.get(id)
    if (known !== undefined) return known
    const done = Deferred.makeUnsafe<void>()
    this.open.set(id, done)
    return done
  }

  /** Wraps the service so that ids of accepted URLs are remembered. */
  remembering(service: Elicitation["Service"]): Elicitation["Service"] {
    return {
      modes: service.modes,
      elicit: (params) =>
        params.mode !== "url" || params.elicitationId === undefined
          ? service.elicit(params)
          : this.expecting(params.elicitationId, service.elicit(params))
    }
  }

  /** Starts waiting before asking the user, because the interaction may be complete before the dialog is closed. */
  private expecting<E>(id: string, answer: Effect.Effect<ElicitResult, E>): Effect.Effect<ElicitResult, E> {
    return Effect.suspend(() => {
      const known = this.open.has(id)
      this.expect(id)
      return Effect.onExit(answer, (exit) =>
        Effect.sync(() => {
          if (!known && !(Exit.isSuccess(exit) && exit.value.action === "accept")) this.open.delete(id)
        })
      )
    })
  }

  /** Runs `request`, and once more if URLs had to be visited first. Fails with the first error if they were not visited. */
  retrying<A, E>(request: Effect.Effect<A, E | McpError.McpError>): Effect.Effect<A, E | McpError.McpError> {
    const { service } = this
    if (service?.modes.url !== true) return request
    return Effect.catchIf(request, isRequired, (error) =>
      Effect.flatMap(this.visit(service, error), (visited) => (visited ? request : Effect.fail(error)))
    )
  }

  private visit(service: Elicitation["Service"], error: McpError.McpError): Effect.Effect<boolean> {
    return decode(error.data).pipe(
      Effect.flatMap(({ elicitations }) => {
        // Starts before asking the user, because the interaction may be complete before the dialog is closed.
        const pages = elicitations.map((params) => ({ params, done: this.expect(params.elicitationId ?? "") }))
        const agreed = Effect.forEach(pages, ({ params }) => agree(service, params), { discard: true })
        const done = Effect.forEach(pages, ({ done }) => Deferred.await(done), { discard: true })
        return Effect.andThen(agreed, Effect.map(Effect.timeoutOption(done, this.timeout), Option.isSome))
      }),
      Effect.orElseSucceed(() => false)
    )
  }
}

const isRequired = (error: unknown): error is McpError.McpError =>
  error instanceof McpError.McpError && error.code === McpError.UrlElicitationRequired

const refused = McpError.invalidParams("The user did not agree to open the page")

const agree = (service: Elicitation["Service"], params: UrlParams) =>
  Effect.andThen(
    ElicitationChecks.checkQuestion(params, true),
    Effect.flatMap(service.elicit(params), ({ action }) => (action === "accept" ? Effect.void : Effect.fail(refused)))
  )
