/**
 * The server side of a cassette. Responds to each recorded request the way the recorded server did.
 *
 * IDs and progress tokens are replaced by the current client's. A recorded server message is sent once everything it depends on has
 * arrived: its request, and the client's answers to earlier questions. Requests may arrive in a different order than they were recorded in.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { comparable, differences, show } from "./difference.ts"
import type { PlacedEntry } from "./Entry.ts"
import { at } from "../model/json.ts"

/** A recorded client message. */
interface Sent {
  readonly line: number
  readonly message: unknown
  readonly kind: "request" | "response" | "notification"
  readonly method: string
  /** True once it has arrived. */
  came: boolean
  /** The message as it arrived, with the current IDs. */
  now: unknown
}

/** A message from the server, and the messages that caused it. */
interface Due {
  readonly message: unknown
  readonly owner: Sent | undefined
  /** Earlier answers from the client to questions about the same request. */
  readonly after: ReadonlyArray<Sent>
  sent: boolean
}

const key = (id: unknown): string => JSON.stringify(id) ?? ""
const methodOf = (message: unknown): string => {
  const method = at(message, "method")
  return typeof method === "string" ? method : ""
}
const tokenOf = (message: unknown): unknown => at(message, "params", "_meta", "progressToken")

const kindOf = (message: unknown): Sent["kind"] =>
  at(message, "method") === undefined ? "response" : at(message, "id") === undefined ? "notification" : "request"

/** Returns the client request a server message belongs to. */
const ownerOf = (
  { message, of }: PlacedEntry,
  before: ReadonlyArray<Sent>,
  answered: ReadonlySet<Sent>
): Sent | undefined => {
  const requests = before.filter(({ kind }) => kind === "request")
  const withId = (id: unknown) => requests.findLast((sent) => key(at(sent.message, "id")) === key(id))
  if (kindOf(message) === "response") return withId(at(message, "id"))
  const token = at(message, "params", "progressToken")
  const named = at(message, "params", "_meta", Meta.subscriptionId) ?? of
  if (methodOf(message) === "notifications/progress") {
    return requests.findLast((sent) => key(tokenOf(sent.message)) === key(token))
  }
  return (
    (named === undefined ? undefined : withId(named)) ??
    requests.findLast((sent) => !answered.has(sent)) ??
    before.findLast(({ kind }) => kind !== "response")
  )
}

/** Splits a recording into the messages the client sends and the server messages that depend on them. */
const plan = (entries: ReadonlyArray<PlacedEntry>) => {
  const sent: Array<Sent> = []
  const due: Array<Due> = []
  const answered = new Set<Sent>()
  const askedBy = new Map<string, Sent | undefined>()
  for (const entry of entries) {
    const { from, line, message } = entry
    const kind = kindOf(message)
    if (from === "client") {
      sent.push({ line, message, kind, method: methodOf(message), came: false, now: undefined })
      continue
    }
    const owner = ownerOf(entry, sent, answered)
    if (kind === "response" && owner !== undefined) answered.add(owner)
    if (kind === "request") askedBy.set(key(at(message, "id")), owner)
    const after = sent.filter((each) => each.kind === "response" && askedBy.get(key(at(each.message, "id"))) === owner)
    due.push({ message, owner, after, sent: false })
  }
  return { sent, due, askedBy }
}

export interface Options {
  /** Name of the file, for errors. */
  readonly file: string
  readonly entries: ReadonlyArray<PlacedEntry>
  /** Called with each message the server sends. */
  readonly receive: (message: JsonObject) => void
  /** Called with each difference from the recording. */
  readonly onDifference: (message: string) => void
}

const response = (id: unknown, body: JsonObject): JsonObject => ({ jsonrpc: "2.0", id, ...body })

export class Replay {
  private readonly sent: ReadonlyArray<Sent>
  private readonly due: ReadonlyArray<Due>
  private readonly askedBy: ReadonlyMap<string, Sent | undefined>
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
    const { askedBy, due, sent } = plan(options.entries)
    this.sent = sent
    this.due = due
    this.askedBy = askedBy
  }

  /** Recorded requests that haven't arrived yet, as sentences. */
  get left(): ReadonlyArray<string> {
    return this.sent
      .filter(({ came, kind }) => kind === "request" && !came)
      .map(({ line, message }) => `line ${line}: ${told(message)}`)
  }

  /** Handles a client message. */
  take(message: unknown): void {
    const kind = kindOf(message)
    if (kind === "request") this.request(message)
    else if (kind === "response") this.answer(message)
    else this.notification(message)
  }

  private request(message: unknown): void {
    const method = methodOf(message)
    const open = this.sent.filter((each) => each.kind === "request" && each.method === method && !each.came)
    const found = open.find((each) => differ(each, message).length === 0)
    if (found !== undefined) return this.come(found, message)
    const id = at(message, "id")
    // A client may check at any time whether the server is still there.
    if (method === "ping") return this.options.receive(response(id, { result: {} }))
    const why = this.whyNot(message, open)
    // A client that supports both eras probes first, but a server of a single era doesn't know that request.
    const isProbe = method === "server/discover" || method === "initialize"
    if (!isProbe) this.options.onDifference(why)
    const code = isProbe ? McpError.MethodNotFound : McpError.InternalError
    this.options.receive(response(id, { error: { code, message: why } }))
  }

  private notification(message: unknown): void {
    const method = methodOf(message)
    const open = this.sent.filter((each) => each.kind === "notification" && each.method === method && !each.came)
    const found = open.find((each) => differ(each, message).length === 0) ?? open[0]
    if (found !== undefined) this.come(found, message)
  }

  private answer(message: unknown): void {
    const id = key(at(message, "id"))
    const found = this.sent.find((each) => each.kind === "response" && !each.came && key(at(each.message, "id")) === id)
    const recorded = found && { result: at(found.message, "result"), error: at(found.message, "error") }
    const wrong = recorded && differences(recorded, { result: at(message, "result"), error: at(message, "error") }, "")
    if (found !== undefined && wrong?.length === 0) return this.come(found, message)
    const why =
      found === undefined
        ? `${this.options.file} has no answer to the question ${id}; the client answers ${show(message)}`
        : `${this.options.file} has another answer to a question, in line ${found.line}: ${wrong?.join("; ")}`
    this.options.onDifference(why)
    const owner = this.askedBy.get(id)
    if (owner === undefined) return
    // Otherwise the request that the question was about would wait forever.
    for (const each of this.due) if (each.owner === owner) each.sent = true
    const error = { code: McpError.InternalError, message: why }
    this.options.receive(response(at(owner.now, "id"), { error }))
  }

  private come(sent: Sent, message: unknown): void {
    sent.came = true
    sent.now = message
    this.release()
  }

  /** Sends all messages that are due. */
  private release(): void {
    const blocked = new Set<Sent | undefined>()
    for (const each of this.due) {
      if (each.sent || blocked.has(each.owner)) continue
      if (each.owner?.came === false || each.after.some(({ came }) => !came)) {
        blocked.add(each.owner)
        continue
      }
      each.sent = true
      const message = translate(each)
      if (message !== undefined) this.options.receive(message)
    }
  }

  private whyNot(message: unknown, open: ReadonlyArray<Sent>): string {
    const { file } = this.options
    const method = methodOf(message)
    const given = `The client sent ${told(message)}`
    const advice = "Record it again if the change is intended"
    const again = this.sent.findLast((each) => each.method === method && differ(each, message).length === 0)
    if (again !== undefined) {
      return `${given} once more than ${file} has it: line ${again.line} was the last one, and is replayed. ${advice}`
    }
    const [closest] = open
      .map((each) => ({ ...each, wrong: differ(each, message) }))
      .toSorted((a, b) => a.wrong.length - b.wrong.length)
    if (closest !== undefined) {
      const expected = told(closest.message)
      return `${file} does not have this request. ${given}; line ${closest.line} has ${expected}: ${closest.wrong.join("; ")}. ${advice}`
    }
    const [next] = this.left
    return `${file} does not have this request. ${given}; ${next === undefined ? "all its requests are replayed" : `the next one is in ${next}`}. ${advice}`
  }
}

/** Formats a request for people to read. */
const told = (message: unknown): string => {
  const params = comparable(at(message, "params"))
  return `${methodOf(message)}${params === undefined ? "" : ` ${show(params)}`}`
}

/** Returns the differences between a request or notification and the recorded one. */
const differ = ({ message: recorded, method }: Sent, message: unknown): ReadonlyArray<string> => {
  // Client info and request ids differ from run to run.
  if (method === "initialize" || method === "notifications/cancelled") return []
  return differences(comparable(at(recorded, "params")), comparable(at(message, "params")), "params")
}

/** Returns a recorded message with the current IDs, or `undefined` if the current client can't use it. */
const translate = ({ message, owner }: Due): JsonObject | undefined => {
  if (!isJsonObject(message)) return undefined
  const id = at(owner?.now, "id")
  if (kindOf(message) === "response") return id === undefined ? undefined : { ...message, id, ...named(message, id) }
  if (methodOf(message) === "notifications/progress") {
    const token = tokenOf(owner?.now)
    return token === undefined
      ? undefined
      : { ...message, params: Object.assign({}, message.params, { progressToken: token }) }
  }
  return { ...message, ...named(message, id) }
}

/** The subscription that a message names, if any. */
const named = (message: JsonObject, id: unknown): JsonObject => {
  const entries = ["params", "result"].flatMap((part) => {
    const meta = at(message, part, "_meta")
    if (at(meta, Meta.subscriptionId) === undefined) return []
    const changed = Object.assign({}, meta, { [Meta.subscriptionId]: id })
    return [[part, Object.assign({}, message[part], { _meta: changed })]]
  })
  return Object.fromEntries(entries)
}
