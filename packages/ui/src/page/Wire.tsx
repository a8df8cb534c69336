/** The wire: each message with its direction, time, revision and headers. */
import { signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import type { WireEntry } from "../messages/Events.ts"
import { asCurl } from "./copies.ts"
import { bytes, duration, line, time } from "./format.ts"
import { Json } from "./Json.tsx"
import { link, route } from "./route.ts"
import { copy, wire } from "./state.ts"

const search = signal("")
const from = signal("")
const kind = signal("")
/** Number of messages to show at first. */
const most = 300

const matches = (entry: WireEntry): boolean => {
  const wanted = search.value.toLowerCase()
  return (
    (from.value === "" || entry.from === from.value) &&
    (kind.value === "" || entry.kind === kind.value) &&
    (wanted === "" || `${entry.method ?? ""} ${entry.text}`.toLowerCase().includes(wanted))
  )
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const Details = ({ entry }: { readonly entry: WireEntry }) => {
  const { http, revision, run, text } = entry
  const json = parsed(text)
  const curl = asCurl(entry)
  return (
    <div class="details">
      <div class="bar tools">
        <button
          type="button"
          class="small"
          onClick={() => void copy(json === undefined ? text : JSON.stringify(json, null, 2), "the message as JSON")}
        >
          Copy JSON
        </button>
        {curl === undefined ? null : (
          <button type="button" class="small" onClick={() => void copy(curl, "a curl command")}>
            Copy as curl
          </button>
        )}
        {run === undefined ? null : (
          <a class="button small" href={link("run", run)}>
            Run {run}
          </a>
        )}
        <span class="quiet">
          {revision ?? "no revision yet"}, {bytes(entry.bytes)}
        </span>
      </div>
      {http === undefined ? null : (
        <details>
          <summary>
            {http.method} {line(http.url, 200)} {http.status ?? ""}
          </summary>
          <dl class="headers">
            {Object.entries(http.headers).map(([name, value]) => (
              <div key={name}>
                <dt>{line(name, 80)}</dt>
                <dd>{line(value, 500)}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      {json === undefined ? (
        <pre class="text" tabIndex={0}>
          {text.slice(0, 20_000)}
        </pre>
      ) : (
        <Json value={json} open={3} />
      )}
    </div>
  )
}

const label: { readonly [K in WireEntry["kind"]]: string } = {
  request: "request",
  notification: "notification",
  result: "result",
  error: "error",
  invalid: "not a message",
  http: "HTTP"
}

const Row = ({ entry }: { readonly entry: WireEntry }) => {
  const [isOpen, setOpen] = useState(false)
  const { at, from: by, http, kind: of, method, rpcId, took } = entry
  return (
    <li class={`message ${of}`}>
      <button type="button" class="row" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class={`arrow ${by}`} role="img" aria-label={by === "client" ? "to the server" : "from the server"}>
          {by === "client" ? "→" : "←"}
        </span>
        <span class="what">
          {line(method ?? label[of], 80)}
          {rpcId === undefined ? null : <span class="quiet"> #{line(String(rpcId), 20)}</span>}
        </span>
        <span class={`kind ${of}`}>{of === "http" ? http?.status : label[of]}</span>
        <span class="quiet figure" title={time(at)}>
          {took === undefined ? time(at).slice(3) : duration(took)}
        </span>
      </button>
      {isOpen ? <Details entry={entry} /> : null}
    </li>
  )
}

const Filters = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="bar filters">
    <input
      type="search"
      aria-label="Search messages"
      placeholder="Search messages"
      value={search.value}
      onInput={({ currentTarget }) => (search.value = currentTarget.value)}
    />
    <select
      aria-label="Direction"
      value={from.value}
      onChange={({ currentTarget }) => (from.value = currentTarget.value)}
    >
      <option value="">Both directions</option>
      <option value="client">→ sent</option>
      <option value="server">← received</option>
    </select>
    <select
      aria-label="Kind of message"
      value={kind.value}
      onChange={({ currentTarget }) => (kind.value = currentTarget.value)}
    >
      <option value="">All kinds</option>
      {Object.entries(label).map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
    {children}
  </div>
)

export const Wire = () => {
  const [shown, setShown] = useState(most)
  const [onlyRun, setOnlyRun] = useState(false)
  const { item, view } = route.value
  const run = view === "run" ? Number(item) : undefined
  const found = wire.value.filter((entry) => matches(entry) && (!onlyRun || run === undefined || entry.run === run))
  return (
    <section class="wire" aria-label="Wire">
      <header class="bar">
        <h2>Wire</h2>
        <span class="quiet">
          {found.length === wire.value.length ? found.length : `${found.length} of ${wire.value.length}`}
        </span>
        <button
          type="button"
          class="small"
          onClick={() =>
            void copy(
              JSON.stringify(
                found.map((each) => parsed(each.text) ?? each.text),
                null,
                2
              ),
              `${found.length} messages`
            )
          }
        >
          Copy all
        </button>
      </header>
      <Filters>
        {run === undefined ? null : (
          <label class="inline">
            <input
              type="checkbox"
              checked={onlyRun}
              onChange={({ currentTarget }) => setOnlyRun(currentTarget.checked)}
            />
            This run
          </label>
        )}
      </Filters>
      <ol class="messages">
        {found
          .slice(-shown)
          .toReversed()
          .map((entry) => (
            <Row key={entry.id} entry={entry} />
          ))}
      </ol>
      {found.length > shown ? (
        <button type="button" class="small" onClick={() => setShown(shown + most)}>
          Show older messages
        </button>
      ) : null}
      {found.length > 0 ? null : (
        <p class="quiet pad">{wire.value.length === 0 ? "No message has passed yet." : "No message matches."}</p>
      )}
    </section>
  )
}
