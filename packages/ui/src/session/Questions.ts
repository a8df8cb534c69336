/** Questions from the server, which wait until a person answers them on the page. */
import { Requester } from "@effect-mcp/client/Requester"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import type { ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import type { Root } from "@effect-mcp/protocol/model/Root"
import type { CreateMessageParams, CreateMessageResult } from "@effect-mcp/protocol/model/Sampling"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import type { PageCommand } from "../messages/Commands.ts"
import type { OpenQuestion } from "../messages/Events.ts"
import type { Board } from "./Board.ts"
import type { WireRecorder } from "./Recorder.ts"

type Answer = Extract<PageCommand, { readonly _tag: "Answer" }>

export class OpenQuestions {
  private readonly open = new Map<
    number,
    { readonly question: OpenQuestion; readonly answer: Deferred.Deferred<Answer> }
  >()
  private last = 0
  private replied = 0
  private readonly board: Board
  private readonly now: () => number

  constructor(board: Board, now: () => number) {
    this.board = board
    this.now = now
  }

  /** Answers a question. Returns false if it is no longer waiting. */
  answer(answer: Answer): boolean {
    const asked = this.open.get(answer.question)
    return asked !== undefined && Deferred.doneUnsafe(asked.answer, Effect.succeed(answer))
  }

  /** The services that answer, for one connection. */
  layer(
    recorder: WireRecorder,
    roots: SubscriptionRef.SubscriptionRef<ReadonlyArray<Root>>
  ): Layer.Layer<Elicitation.Elicitation | Roots.Roots | Sampling.Sampling> {
    const elicit = (kind: "form" | "url", params: OpenQuestion["params"]) =>
      Effect.map(this.ask(kind, params, recorder), ({ action, content }): ElicitResult =>
        action === "accept" && kind === "form" ? { action, content: content ?? {} } : { action }
      )
    return Layer.mergeAll(
      Elicitation.layer({
        form: (params) => elicit("form", params),
        url: (params) => elicit("url", params)
      }),
      Sampling.layer((params) => this.sample(params, recorder), { tools: true, context: true }),
      Roots.layerRef(roots)
    )
  }

  private sample(params: CreateMessageParams, recorder: WireRecorder) {
    const said = (text: string, model: string): CreateMessageResult => ({
      role: "assistant",
      content: { type: "text", text },
      model,
      stopReason: "endTurn"
    })
    const { replies } = this.board.state.settings
    if (replies.length > 0) {
      // The last reply is repeated.
      const reply = replies[Math.min(this.replied++, replies.length - 1)] ?? ""
      return Effect.succeed(said(reply, "script"))
    }
    return Effect.flatMap(this.ask("sampling", params, recorder), ({ action, text = "" }) =>
      action === "accept" ? Effect.succeed(said(text, "person")) : Effect.fail(Sampling.rejected())
    )
  }

  /** Starts the scripted replies from the first one again. */
  restartReplies(): void {
    this.replied = 0
  }

  private ask(
    kind: OpenQuestion["kind"],
    params: OpenQuestion["params"],
    recorder: WireRecorder
  ): Effect.Effect<Answer> {
    return Effect.gen({ self: this }, function* () {
      const requester = yield* Requester
      const running = this.board.state.runs.filter(({ status }) => status === "running")
      // Over stdio, questions don't name their requests. If only one request is running, the question belongs to it.
      const run = recorder.runOf(requester?.relatedTo) ?? (running.length === 1 ? running[0]?.id : undefined)
      const id = ++this.last
      const answer = Deferred.makeUnsafe<Answer>()
      this.open.set(id, { question: { id, at: this.now(), kind, run, params }, answer })
      this.show()
      return yield* Effect.ensuring(
        Deferred.await(answer),
        Effect.sync(() => {
          this.open.delete(id)
          this.show()
        })
      )
    })
  }

  private show(): void {
    this.board.questions([...this.open.values()].map(({ question }) => question))
  }
}
