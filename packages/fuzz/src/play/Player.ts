/** Plays a conversation with a target, checks all observations against the rules, and records the messages. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { declared, nextPage, nextRound, notificationOf, opening, replyTo, requestOf, taskRequest } from "./Answers.ts"
import { Dialogue } from "./Dialogue.ts"
import { isStream } from "../model/Call.ts"
import { isSettled, isSubscribed, isWaiting } from "../model/Exchange.ts"
import { Model } from "../model/Model.ts"
import type { Exchange, Observation } from "../model/Observation.ts"
import { concerned, Judge } from "../model/Rule.ts"
import type { Answering, Command, Deviation, RequestCommand, Script } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"
import type { Line, Played } from "./Played.ts"
import { notTaken } from "../model/notTaken.ts"
import { handlerPatience, idleTime, type Options, patienceForStart, startPatience } from "./PlayOptions.ts"
import { reachesHandler } from "../rules/judge.ts"
import { anotherClient, type HttpWire, type Target, TargetError, type Wire, type WireEvent } from "../target/Target.ts"
import { longestRetry, mostPolls, Waiting } from "./Waiting.ts"

class Player {
  model: Model
  judge: Judge
  readonly lines: Array<Line> = []
  ended = false
  how: string | undefined
  wire: Wire | undefined
  private dialogue: Dialogue | undefined
  private closed = false
  private readonly late = new Set<Exchange>()
  private readonly waiting: Waiting
  private answering: Answering = "accept"
  private declares: JsonObject = {}
  private next = 0
  private readonly survey: Survey
  private readonly script: Script
  private readonly target: Target
  private readonly options: Options
  private readonly now: () => number
  private readonly patience: number
  /** How long to wait for responses that may take any time, such as a handler's. */
  private readonly short: number

  constructor(target: Target, survey: Survey, script: Script, options: Options, now: () => number) {
    this.target = target
    this.survey = survey
    this.script = script
    this.options = options
    this.now = now
    this.patience = options.patience ?? 5000
    this.short = Math.min(handlerPatience, this.patience)
    this.model = new Model(survey.revision === script.revision ? survey : { ...survey, revision: script.revision })
    this.waiting = new Waiting({ settle: target.settle, outside: this.model.revision.era === "stateless" })
    this.judge = this.judgeOf(this.model)
  }

  private judgeOf(model: Model): Judge {
    return new Judge(concerned(this.options.rules, this.script.revision, this.target.transport), model)
  }

  play(): Effect.Effect<void, TargetError, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const { target } = this
      if (target.transport === "http") this.dialogue = this.speak(yield* target.open)
      else this.enter(yield* target.open(this.receive, this.script))
      // Skips the ids of earlier conversations on this wire.
      this.next = 1000 * (this.wire?.before?.length ?? 0)
      const { commands } = this.script
      for (let index = 0; index < commands.length && !this.ended; index++) {
        const command = commands[index]
        this.model.command = index
        const waits = command && this.run(command)
        if (waits !== undefined) yield* waits
      }
      this.model.command = commands.length
      yield* this.finish()
      const unreachable = this.ended && this.dialogue?.calls.every(({ status }) => status === undefined) === true
      const message = `Cannot reach ${target.name}: ${this.how ?? ""}`
      yield* unreachable ? new TargetError({ message }) : Effect.void
    })
  }

  private enter(wire: Wire): void {
    this.wire = wire
    if (wire.model === undefined) return
    this.model = wire.model
    this.judge = this.judgeOf(this.model)
  }

  private speak(wire: HttpWire): Dialogue {
    return new Dialogue(wire, this.model, {
      observe: (observation) => {
        this.observe(observation)
        this.waiting.tell()
      },
      hear: (text, carrier) => this.hear(text, carrier),
      note: (from, text) => void this.lines.push({ from, text, at: this.now() }),
      lost: (why) => (why === "" ? this.waiting.tell() : this.receive({ _tag: "Ended", how: why }))
    })
  }

  private readonly receive = (event: WireEvent): void => {
    if (event._tag === "Line") return this.hear(event.text)
    if (event._tag === "Refused") {
      this.lines.push({ from: "server", text: event.how, at: this.now() })
      notTaken(event.text, this.model)
    } else {
      this.ended = true
      this.how = event.how
      const isIdle = this.script.commands[this.model.command]?._tag === "Idle"
      if (!this.closed) this.observe({ _tag: "Gone", how: event.how, isIdle })
    }
    this.waiting.tell()
  }

  private hear(text: string, carrier?: Exchange): void {
    this.lines.push({ from: "server", text, at: this.now() })
    for (const observation of this.model.received(text, carrier)) this.observe(observation)
    this.waiting.tell()
  }

  private observe(observation: Observation): void {
    this.judge.judge(observation)
    this.model.learn(observation)
    const reply = observation._tag === "Asked" ? replyTo(observation.question, this.answering) : undefined
    if (reply !== undefined) this.send(reply)
  }

  private send(message: unknown, deviation?: Deviation): void {
    this.sendText(JSON.stringify(message), deviation, message)
  }

  private sendText(text: string, deviation?: Deviation, message?: unknown): void {
    if (this.ended) return
    if (this.dialogue !== undefined) return this.dialogue.post(text, deviation)
    this.lines.push({ from: "client", text, at: this.now() })
    this.model.sent(text, true, message)
    this.wire?.send(text)
    this.waiting.tell()
  }

  /** Waits until `isDone` returns true, the server is gone, or the patience is over. */
  private until(isDone: () => boolean, patience = this.patience): Effect.Effect<void> {
    return this.waiting.until(() => this.ended || isDone(), patience)
  }

  /** Waits until a process has started. With sessions, the handshake waits for that. */
  private started(): Effect.Effect<void> {
    const patience = patienceForStart(this.options, this.wire, this.model.revision)
    const isIdle = !this.model.exchanges.some((one) => this.isHopeful(one))
    const isDone = () => isIdle || this.lines.some(({ from }) => from === "server")
    return patience === undefined ? Effect.void : this.until(isDone, patience)
  }

  /** Waits until every response has begun (HTTP). */
  private begun(): Effect.Effect<void> {
    return this.dialogue === undefined ? Effect.void : this.until(() => this.dialogue?.isPending !== true)
  }

  /** Waits for all responses that may still arrive. Those that are late are not waited for again. */
  private settle(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { dialogue, model } = this
      const isDone = () => !model.exchanges.some((one) => this.isHopeful(one))
      yield* this.started()
      yield* dialogue === undefined ? this.until(isDone, this.short) : this.poll(dialogue, isDone)
      if (!this.ended && !isDone()) {
        yield* this.until(() => model.exchanges.every((one) => !this.isHopeful(one) || reachesHandler(one, model)))
      }
      for (const exchange of model.exchanges) if (isWaiting(exchange)) this.late.add(exchange)
    })
  }

  /** True if the response may still arrive. */
  private isHopeful(exchange: Exchange): boolean {
    return isWaiting(exchange) && !this.late.has(exchange) && this.options.hopeful?.(exchange) !== false
  }

  /** Resumes streams whose connection the server closed early. */
  private poll(dialogue: Dialogue, isDone: () => boolean): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      yield* this.begun()
      for (let round = 0; round < mostPolls; round++) {
        yield* this.until(() => isDone() || dialogue.unfinished.length > 0, this.short)
        const [call] = dialogue.unfinished
        if (call === undefined) return
        yield* Effect.sleep(Math.min(call.retry ?? 0, longestRetry))
        dialogue.reconnect(call)
      }
    })
  }

  private message(command: RequestCommand): JsonObject {
    const id = command.id === undefined ? `r${++this.next}` : command.id
    return requestOf(command, id, this.model, this.declares)
  }

  private open(command: Extract<Command, { readonly _tag: "Open" }>): Effect.Effect<void> {
    this.answering = command.answers ?? "accept"
    this.declares = declared(command.declares ?? [])
    const { era } = this.model.revision
    const isContinued = this.wire?.model !== undefined && this.model.command === 0
    if (era === "stateless" || command.continues === true || isContinued) return Effect.void
    const params = opening(command.offer ?? this.script.revision, this.declares)
    this.send({ jsonrpc: "2.0", id: `r${++this.next}`, method: "initialize", params })
    const exchange = this.model.exchanges.at(-1)
    const opened = this.until(
      () => exchange === undefined || !isWaiting(exchange),
      Math.max(this.patience, startPatience)
    )
    return Effect.flatMap(opened, () => {
      if (exchange?.answer?._tag !== "Result" || command.silent === true) return Effect.void
      this.send(notificationOf("notifications/initialized", undefined))
      return this.begun()
    })
  }

  private cancel(which: Extract<Command, { readonly _tag: "Cancel" }>["which"]): void {
    if (which === "subscriptions") return this.model.exchanges.filter(isSubscribed).forEach((each) => this.giveUp(each))
    const open = this.model.exchanges.filter((exchange) => isWaiting(exchange) && exchange.method !== "initialize")
    const answered = this.model.newest(({ answer }) => answer !== undefined)
    const exchange = which === "answered" ? answered : which === "newest" ? open.at(-1) : open[0]
    if (exchange !== undefined) this.giveUp(exchange)
  }

  private giveUp(exchange: Exchange): void {
    const { dialogue } = this
    if (dialogue !== undefined && this.model.revision.era === "stateless") {
      return dialogue.cut(dialogue.calls.find((call) => call.exchange === exchange))
    }
    this.send(notificationOf("notifications/cancelled", { requestId: exchange.id, reason: "fuzz" }))
  }

  /** Runs a command. Returns an effect to wait for, if any. */
  private run(command: Command): Effect.Effect<void, TargetError> | undefined {
    switch (command._tag) {
      case "Open":
        return this.open(command)
      case "Wait":
        return this.settle()
      case "Idle":
        return this.until(() => false, idleTime)
      case "Beside":
        return this.dialogue === undefined ? undefined : this.beside(command)
      case "Delete":
        this.dialogue?.remove(command.http)
        return this.begun()
      default:
        this.act(command)
        return undefined
    }
  }

  /** Lets a second client talk to the same server while this conversation stays open. */
  private beside({
    commands,
    stranger = false
  }: Extract<Command, { readonly _tag: "Beside" }>): Effect.Effect<void, TargetError> {
    const client = anotherClient(this.target, stranger)
    if (client === undefined) return Effect.void
    const script = { revision: this.script.revision, commands }
    const other = new Player(client.target, this.survey, script, this.options, this.now)
    other.model.foreign = { tasks: this.model.tasks, callers: client.callers }
    return Effect.map(Effect.scoped(other.play()), () => {
      this.lines.push(...other.lines.map((line): Line => ({ ...line, beside: true })))
      this.judge.include(other.judge, this.model.command)
      if (other.ended) this.receive({ _tag: "Ended", how: other.how ?? "" })
    })
  }

  private act(command: Exclude<Command, { readonly _tag: "Open" | "Wait" | "Idle" | "Beside" | "Delete" }>): void {
    switch (command._tag) {
      case "Request":
        return this.send(this.message(command), command.http)
      case "Notify":
        return this.send(notificationOf(command.method, command.params), command.http)
      case "Listen":
        return this.dialogue?.listen(command.http)
      case "Cut":
        return this.dialogue?.cut()
      case "Reconnect":
        return this.dialogue?.reconnect()
      case "Raw":
        return this.sendText(command.text)
      case "Cancel":
        return this.cancel(command.which)
      case "Batch":
        return this.send(
          command.members.map((member) =>
            member._tag === "Request" ? this.message(member) : notificationOf(member.method, member.params)
          )
        )
      case "Resume":
        return this.resume(command.how)
      case "NextPage":
      case "Task": {
        const request =
          command._tag === "Task" ? taskRequest(this.model, command, this.answering) : nextPage(this.model, command)
        return request && this.send(this.message(request))
      }
      case "Flood":
        for (let sent = 0; sent < command.count; sent++) this.send(this.message(command.request))
    }
  }

  /** Sends the newest request that was answered with questions again, with answers. */
  private resume(how: Extract<Command, { readonly _tag: "Resume" }>["how"]): void {
    const again = nextRound(this.model, how, this.answering)
    if (again !== undefined) this.send({ jsonrpc: "2.0", id: `r${++this.next}`, ...again })
  }

  /** Ends the conversation: waits for responses, cancels late requests, checks that the server still responds, and closes its input. */
  private finish(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      yield* this.settle()
      if (!this.ended) {
        const late = this.model.exchanges.filter((exchange) => isWaiting(exchange))
        for (const exchange of late) this.observe({ _tag: "Unanswered", exchange })
        for (const exchange of late) this.giveUp(exchange)
        if (this.wire?.keep !== undefined) this.cancel("subscriptions")
        yield* this.alive()
      }
      yield* this.dialogue === undefined ? this.end() : this.leave(this.dialogue)
    })
  }

  /** True if nothing was wrong and no more messages can arrive. */
  private get isInOrder(): boolean {
    const { exchanges, unreadable } = this.model
    const isRight = this.judge.found.length === 0 || this.options.keepsBroken === true
    return isRight && unreadable === 0 && exchanges.every(isSettled)
  }

  private end(): Effect.Effect<void> {
    const { exitPatience = 5000, closing } = this.options
    if (!this.ended && this.isInOrder && this.wire?.keep?.(this.script, this.model) === true) return Effect.void
    if (this.ended || this.target.transport !== "stdio" || closing === false) return Effect.void
    if (!this.lines.some(({ from }) => from === "server")) return Effect.void
    this.closed = true
    return Effect.gen({ self: this }, function* () {
      if (this.wire !== undefined) yield* this.wire.end
      yield* this.until(() => this.ended, exitPatience)
      this.observe({ _tag: "Closed", exited: this.ended })
    })
  }

  /** Checks that streams end once their request is answered, and ends the sessions. */
  private leave(dialogue: Dialogue): Effect.Effect<void> {
    const running = () =>
      dialogue.calls.filter(
        (call) => call.ended === undefined && isStream(call) && call.exchange?.answer !== undefined && call.right
      )
    return Effect.gen({ self: this }, function* () {
      yield* this.until(() => running().length === 0, this.short)
      for (const call of running()) this.observe({ _tag: "Running", call })
      dialogue.leave()
      yield* this.until(() => !dialogue.isPending, this.short)
    })
  }

  private alive(): Effect.Effect<void> {
    if (this.model.phase !== "ready" || this.dialogue?.isEnded === true) return Effect.void
    const stateless = this.model.revision.era === "stateless"
    this.send(this.message({ _tag: "Request", method: stateless ? "server/discover" : "ping" }))
    const last = this.model.exchanges.at(-1)
    const answered = this.until(() => last === undefined || !isWaiting(last))
    return Effect.map(Effect.andThen(this.started(), answered), () => {
      if (!this.ended) this.observe({ _tag: "Alive", answered: last?.answer !== undefined })
    })
  }
}

/** Plays a script over a new connection. `survey` has the known facts about the server in this revision. */
export const play = (
  target: Target,
  survey: Survey,
  script: Script,
  options: Options
): Effect.Effect<Played, TargetError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const start = clock.currentTimeMillisUnsafe()
      const player = new Player(target, survey, script, options, () => clock.currentTimeMillisUnsafe() - start)
      yield* player.play()
      return {
        script,
        found: player.judge.found,
        counts: player.judge.counts,
        lines: player.lines,
        survey: () => player.model.survey(),
        agreed: player.model.agreed,
        ended: player.how,
        before: player.wire?.before ?? []
      }
    })
  )
