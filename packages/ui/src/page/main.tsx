/** The page: what the server offers on the left, the chosen item in the middle, and the wire on the right. */
import { signal } from "@preact/signals"
import { render } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { line } from "./format.ts"
import { Offer } from "./Offers.tsx"
import { Answers, Findings, History, Logs, OneRun, Overview } from "./Pages.tsx"
import { Guarded } from "./Parts.tsx"
import { Questions } from "./Questions.tsx"
import * as Route from "./route.ts"
import { link, route, type ViewName } from "./route.ts"
import * as State from "./state.ts"
import {
  connection,
  findings,
  leaving,
  lists,
  logs,
  name,
  online,
  questions,
  ready,
  revisions,
  runs,
  send,
  toast
} from "./state.ts"
import { hasTasks, Tasks } from "./Tasks.tsx"
import { Wire } from "./Wire.tsx"

const search = signal("")

const Item = ({ item, title, view }: { readonly view: ViewName; readonly item: string; readonly title: string }) => {
  const isHere = route.value.view === view && route.value.item === item.toWellFormed()
  return (
    <li>
      <a href={link(view, item)} title={line(item, 300)} aria-current={isHere ? "page" : undefined}>
        {line(title, 80)}
      </a>
    </li>
  )
}

/** Number of list items to show. The search finds the others. */
const mostItems = 300

const Group = ({
  items,
  title,
  view
}: {
  readonly title: string
  readonly view: ViewName
  readonly items: ReadonlyArray<readonly [item: string, title: string]>
}) => {
  const wanted = search.value.toLowerCase()
  const found = items.filter((each) => each.join(" ").toLowerCase().includes(wanted))
  if (items.length === 0) return null
  return (
    <section>
      <h2>
        {title} <span class="quiet">{items.length}</span>
      </h2>
      <ul>
        {found.slice(0, mostItems).map(([item, shown]) => (
          <Item key={item} view={view} item={item} title={shown} />
        ))}
      </ul>
      {found.length === 0 ? <p class="quiet pad">Nothing matches.</p> : null}
      {found.length > mostItems ? <p class="quiet pad">{found.length - mostItems} more. Search to find them.</p> : null}
    </section>
  )
}

const Place = ({
  count,
  title,
  view
}: {
  readonly view: ViewName
  readonly title: string
  readonly count?: number
}) => (
  <li>
    <a href={link(view)} aria-current={route.value.view === view ? "page" : undefined}>
      {title}
      {count === undefined || count === 0 ? null : <span class={`count ${view}`}>{count}</span>}
    </a>
  </li>
)

const Menu = () => {
  const { prompts = [], resources = [], resourceTemplates = [], tools = [] } = lists.value
  return (
    <nav class="menu" aria-label="Server">
      <input
        type="search"
        aria-label="Search what the server offers"
        placeholder="Search ( / )"
        id="search"
        value={search.value}
        onInput={({ currentTarget }) => (search.value = currentTarget.value)}
      />
      <ul class="places">
        <Place view="overview" title="Overview" />
        <Place view="history" title="History" count={runs.value.length} />
        <Place view="findings" title="Findings" count={findings.value.length} />
        <Place view="logs" title="Logs" count={logs.value.length} />
        <Place view="answers" title="Answers" />
        {hasTasks() ? <Place view="tasks" title="Tasks" /> : null}
      </ul>
      <Group
        title="Tools"
        view="tool"
        items={tools.map((tool) => [tool.name, tool.title ?? tool.annotations?.title ?? tool.name])}
      />
      <Group title="Resources" view="resource" items={resources.map((each) => [each.uri, each.title ?? each.name])} />
      <Group
        title="Templates"
        view="template"
        items={resourceTemplates.map((each) => [each.uriTemplate, each.title ?? each.name])}
      />
      <Group title="Prompts" view="prompt" items={prompts.map((each) => [each.name, each.title ?? each.name])} />
    </nav>
  )
}

const status: { readonly [status: string]: string } = {
  connecting: "Connecting …",
  connected: "Connected",
  closed: "Not connected"
}

const Header = () => {
  const { revision, server, status: is, wanted } = connection.value
  return (
    <header class="top">
      <h1 title={line(name.value.name, 300)}>
        <a href={link("overview")}>{line(server?.title ?? server?.name ?? name.value.name, 60)}</a>
      </h1>
      <p class={`state ${online.value ? is : "closed"}`} role="status">
        {online.value ? status[is] : "effect-mcp ui has ended"}
        {is === "connected" && online.value ? <span class="quiet">{revision}</span> : null}
      </p>
      <label class="inline">
        <span class="hide">Revision</span>
        <select
          aria-label="Revision"
          value={wanted ?? ""}
          onChange={({ currentTarget: { value } }) =>
            void send({ _tag: "Connect", revision: value === "" ? null : value })
          }
        >
          <option value="">Newest</option>
          {revisions.value.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <button type="button" onClick={() => void send({ _tag: "Connect", revision: wanted })}>
        {is === "closed" ? "Connect" : "Reconnect"}
      </button>
      {is === "closed" ? null : (
        <button type="button" class="wide" onClick={() => void send({ _tag: "Disconnect" })}>
          Disconnect
        </button>
      )}
    </header>
  )
}

const Tabs = () => {
  const { view } = route.value
  const tab = view === "menu" || view === "wire" ? view : "overview"
  const tabs = [
    ["menu", "Server"],
    ["overview", questions.value.length > 0 ? `Main (${questions.value.length})` : "Main"],
    ["wire", "Wire"]
  ] as const
  return (
    <nav class="tabs" aria-label="Parts of the page">
      {tabs.map(([to, title]) => (
        <a key={to} href={link(to)} aria-current={tab === to ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  )
}

const Main = () => {
  switch (route.value.view) {
    case "overview":
    case "menu":
    case "wire":
      return <Overview />
    case "history":
      return <History />
    case "run":
      return <OneRun />
    case "tasks":
      return <Tasks />
    case "logs":
      return <Logs />
    case "findings":
      return <Findings />
    case "answers":
      return <Answers />
    default:
      return <Offer />
  }
}

/** Shows the whole address before the browser follows it. */
const Leaving = () => {
  const dialog = useRef<HTMLDialogElement>(null)
  const url = leaving.value
  useEffect(() => {
    if (url === undefined) dialog.current?.close()
    else dialog.current?.showModal()
  }, [url])
  return (
    <dialog ref={dialog} aria-labelledby="leaving" onClose={() => (leaving.value = undefined)}>
      <h2 id="leaving">Open this address?</h2>
      <p class="address">{url}</p>
      <div class="bar end">
        <button type="button" onClick={() => (leaving.value = undefined)}>
          Stay
        </button>
        {url === undefined ? null : (
          <a
            class="button primary"
            href={url}
            target="_blank"
            rel="noopener noreferrer"
            onClick={() => (leaving.value = undefined)}
          >
            Open in a new tab
          </a>
        )}
      </div>
    </dialog>
  )
}

const App = () => (
  <div class={`app view-${route.value.view}`}>
    <a class="skip" href="#main">
      Skip to the main part
    </a>
    <Header />
    <Menu />
    <main id="main" tabIndex={-1}>
      <Questions />
      <Guarded key={location.hash}>{ready.value ? <Main /> : <p class="quiet pad">Loading …</p>}</Guarded>
    </main>
    <Guarded>
      <Wire />
    </Guarded>
    <Tabs />
    <p class="toast" role="status">
      {toast.value}
    </p>
    <Leaving />
  </div>
)

document.addEventListener("keydown", (event) => {
  const { target } = event
  const isTyping =
    target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
  if (event.key !== "/" || isTyping) return
  event.preventDefault()
  document.querySelector<HTMLInputElement>("#search")?.focus()
})
Route.follow()
State.follow()
const root = document.querySelector("#app")
if (root !== null) render(<App />, root)
