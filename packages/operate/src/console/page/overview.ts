/** Tables about the last 15 minutes: tools, problems and nodes. */
import type { NodeRow, ProblemRow, Recent, Snapshot, ToolRow } from "../../admin/Admin.ts"
import { h } from "./dom.ts"
import { age, clock, duration, shared } from "./model.ts"
import { SortedTable } from "./table.ts"

export interface OverviewActions {
  /** Shows a tool's running calls. */
  readonly running: (tool: string) => void
  readonly drain: (node: string) => void
}

interface Tool extends ToolRow {
  readonly running: number
}

const noHistory = "The server keeps no history. Provide Admin.layerHistory() to enable it."

const tools = ({ running }: OverviewActions) =>
  new SortedTable<Tool>({
    caption: "Tools in the last 15 minutes",
    key: ({ name }) => name,
    sort: [2, true],
    columns: [
      {
        name: "Tool",
        value: ({ name }) => name,
        act: (tool) => (tool.running > 0 ? () => running(tool.name) : undefined)
      },
      { name: "Running", value: ({ running }) => running, isNumber: true },
      { name: "Calls", value: ({ calls }) => calls, isNumber: true },
      {
        name: "Per min",
        value: ({ perMinute }) => perMinute,
        show: ({ perMinute }) => perMinute.toFixed(perMinute < 10 ? 1 : 0),
        isNumber: true
      },
      {
        name: "Failed",
        value: ({ failures }) => failures,
        show: ({ calls, failures }) => (failures === 0 ? "0" : `${failures} (${shared(failures, calls)})`),
        look: ({ failures }) => (failures > 0 ? "bad" : ""),
        isNumber: true
      },
      {
        name: "p50",
        value: ({ p50 }) => p50,
        show: ({ p50 }) => (p50 === undefined ? "–" : duration(p50)),
        isNumber: true
      },
      {
        name: "p95",
        value: ({ p95 }) => p95,
        show: ({ p95 }) => (p95 === undefined ? "–" : duration(p95)),
        isNumber: true
      },
      {
        name: "Last error",
        value: ({ last }) => last?.time,
        show: ({ last }) =>
          last === undefined
            ? "none"
            : `${last.outcome.replace("_", " ")}${last.code === undefined ? "" : ` ${last.code}`} at ${clock(last.time)}`
      }
    ]
  })

const problems = () =>
  new SortedTable<ProblemRow & { readonly id: string }>({
    caption: "Failed, rejected, retried and interrupted requests",
    key: ({ id }) => id,
    sort: [0, true],
    columns: [
      { name: "At", value: ({ time }) => time, show: ({ time }) => clock(time) },
      { name: "How", value: ({ kind }) => kind, look: ({ kind }) => (kind === "failed" ? "bad" : "") },
      {
        name: "Request",
        value: ({ method, target }) => (target === undefined ? method : `${method} ${target}`)
      },
      {
        name: "Why",
        value: ({ code, more }) => [code, more].filter((part) => part !== undefined).join(": ")
      },
      { name: "User", value: ({ subject }) => subject },
      { name: "Client", value: ({ client }) => client },
      { name: "Node", value: ({ node }) => node },
      {
        name: "Took",
        value: ({ duration }) => duration,
        show: (row) => (row.duration === undefined ? "" : duration(row.duration)),
        isNumber: true
      }
    ]
  })

const nodes = ({ drain }: OverviewActions, state: { maySteer: boolean; now: number }) =>
  new SortedTable<NodeRow>({
    caption: "Nodes",
    key: ({ name }) => name,
    sort: [0, false],
    columns: [
      { name: "Node", value: ({ name }) => name },
      { name: "State", value: ({ state }) => state, look: ({ state }) => (state === "serving" ? "good" : "bad") },
      { name: "Version", value: ({ server }) => server?.version },
      { name: "Host", value: ({ server }) => server?.host },
      {
        name: "Up",
        value: ({ server }) => server && -server.since,
        show: ({ server }) => (server === undefined ? "" : age(state.now - server.since)),
        isNumber: true
      },
      { name: "Sessions", value: ({ sessions }) => sessions, isNumber: true },
      { name: "Requests", value: ({ requests }) => requests, isNumber: true },
      {
        name: "Lease",
        value: ({ server }) => server?.lease,
        show: ({ server }) => {
          const lost = server?.lostLeases ?? 0
          return `${server?.lease ?? "none"}${lost === 0 ? "" : `, ${lost} lost`}`
        },
        look: ({ server }) => (server?.lease === "cut off" || (server?.lostLeases ?? 0) > 0 ? "bad" : "")
      },
      {
        name: "Drain",
        value: () => undefined,
        show: ({ state }) => (state === "draining" ? "Draining" : "Drain"),
        act: (node) => (state.maySteer && node.state === "serving" ? () => drain(node.name) : undefined)
      }
    ]
  })

interface Panels {
  readonly tools: HTMLElement
  readonly problems: HTMLElement
  readonly nodes: HTMLElement
}

export class Overview {
  private readonly tools: SortedTable<Tool>
  private readonly problems = problems()
  private readonly nodes: SortedTable<NodeRow>
  private readonly state = { maySteer: false, now: 0 }
  private readonly panels: Panels

  constructor(panels: Panels, actions: OverviewActions) {
    this.panels = panels
    this.tools = tools(actions)
    this.nodes = nodes(actions, this.state)
    const hint = "Durations are estimates, accurate to 10%. Select a running tool to see its calls."
    panels.tools.append(this.tools.element, h("p", { class: "quiet" }, hint))
    panels.problems.append(this.problems.element)
    panels.nodes.append(this.nodes.element)
  }

  /** Draws the visible panel. `recent` is `undefined` if the server keeps no history. */
  show(snapshot: Snapshot, recent: Recent | undefined, now: number, maySteer: boolean): void {
    this.state.maySteer = maySteer
    this.state.now = now
    if (!this.panels.tools.hidden) this.showTools(snapshot, recent)
    if (!this.panels.problems.hidden) this.showProblems(recent)
    if (!this.panels.nodes.hidden) this.showNodes(snapshot)
  }

  private showTools({ requests }: Snapshot, recent: Recent | undefined): void {
    const running = Map.groupBy(
      requests.filter(({ method }) => method === "tools/call"),
      ({ target }) => target ?? ""
    )
    const known = recent?.tools ?? []
    const names = new Set(known.map(({ name }) => name))
    const first = { calls: 0, failures: 0, perMinute: 0 }
    const unfinished = [...running.keys()].flatMap((name) => (names.has(name) ? [] : [{ ...first, name }]))
    this.tools.show(
      [...known, ...unfinished].map((row) => ({ ...row, running: running.get(row.name)?.length ?? 0 })),
      recent === undefined ? noHistory : "No tools were called in the last 15 minutes."
    )
  }

  private showProblems(recent: Recent | undefined): void {
    this.problems.show(
      (recent?.problems ?? []).map((problem, i, all) => ({ ...problem, id: `${all.length - i} ${problem.time}` })),
      recent === undefined
        ? noHistory
        : "Nothing has failed or been rejected, retried or interrupted since the server started."
    )
  }

  private showNodes({ draining, nodes, requests, server, sessions }: Snapshot): void {
    const self: NodeRow = {
      name: server?.name ?? "This server",
      state: draining ? "draining" : "serving",
      sessions: sessions.length,
      requests: requests.filter(({ kind }) => kind === "request").length,
      server
    }
    this.nodes.show(nodes ?? [self], "")
  }
}
