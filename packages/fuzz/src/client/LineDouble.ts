/** One process of a misbehaving stdio server. The client has started it, and the relay reports its events. */
import { linesOf } from "../model/lines.ts"
import type { Sent, ServerProcess } from "./model/ClientModel.ts"
import type { MessageOutlet, ServerDouble } from "./ServerDouble.ts"
import { parse } from "../model/json.ts"

/** Controls the process that the server runs in. */
export interface Process {
  /** Writes to stdout. */
  readonly write: (bytes: Uint8Array) => void
  /** Writes to stderr. */
  readonly log: (text: string) => void
  readonly exit: (code: number) => void
}

/** An event of the process. */
export type ProcessEvent =
  | { readonly _tag: "Input"; readonly text: string }
  | { readonly _tag: "InputEnded" }
  | { readonly _tag: "Signal"; readonly signal: string }
  | { readonly _tag: "Gone" }

/** Receives the events of one process. */
export type ProcessListener = (event: ProcessEvent) => void

class LineDouble {
  private readonly server: ServerDouble
  private readonly process: Process
  private readonly seen: ServerProcess
  private readonly outlet: MessageOutlet

  constructor(server: ServerDouble, process: Process) {
    this.server = server
    this.process = process
    const acts = server.actsOn("shutdown").filter((act) => act._tag === "Linger")
    const lingers = { input: acts.length > 0, signals: acts.some(({ signals }) => signals) }
    this.seen = { inputEnded: false, signals: [], signalFirst: false, lingers, state: "runs" }
    server.model.processes.push(this.seen)
    this.outlet = {
      frame: (text) => `${text}\n`,
      write: process.write,
      log: process.log,
      cut: () => this.end("broke", 1)
    }
  }

  private end(state: ServerProcess["state"], code: number): void {
    if (this.seen.state !== "runs") return
    this.seen.state = state
    this.process.exit(code)
  }

  readonly receive: ProcessListener = (event) => {
    const { seen, server } = this
    switch (event._tag) {
      case "Input":
        return this.feed(event.text)
      case "InputEnded":
        server.note("client", "(end of input)")
        seen.inputEnded = true
        return seen.lingers.input ? undefined : this.end("exited", 0)
      case "Signal":
        server.note("client", `(${event.signal})`)
        seen.signals.push(event.signal)
        seen.signalFirst ||= !seen.inputEnded
        return seen.lingers.signals ? undefined : this.end("exited", 0)
      case "Gone":
        if (seen.state !== "runs") return
        server.note("client", "(killed)")
        seen.signalFirst ||= !seen.inputEnded
        seen.state = "killed"
    }
  }

  private readonly feed = linesOf((line) => this.take(line.replace(/\r$/, "")))

  private take(body: string): void {
    const { server } = this
    const { observe, now } = server.options
    const sent: Sent = { method: "LINE", path: "", headers: {}, body, at: now() }
    const json = parse(body)
    server.note("client", body)
    observe({ _tag: "Sent", sent, json })
    if (json === undefined) return
    const isBatch = Array.isArray(json) && server.script.revision === "2025-03-26"
    for (const message of isBatch ? json : [json]) this.message(message, sent)
  }

  private message(message: unknown, sent: Sent): void {
    const { server } = this
    const heard = server.hear(message, sent)
    if (heard._tag !== "Asked") return
    const { asked } = heard
    if (server.model.stateless && asked.method === "subscriptions/listen") return
    const acts = server.actsOn(asked.method)
    const text = JSON.stringify(server.answer(asked, acts))
    void server.perform(acts, asked, text, this.outlet)
  }
}

/** Runs a server in a process that the client started. */
export const lines = (server: ServerDouble, process: Process): ProcessListener =>
  new LineDouble(server, process).receive
