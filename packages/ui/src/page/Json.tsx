/** JSON as a tree that opens on demand. */
import { useState } from "preact/hooks"
import { line } from "./format.ts"

/** Number of members, and length of a string, to show at first. */
const mostMembers = 100
/** Number of members to open at first on each level of the tree. */
const mostOpen = 1000
const mostText = 2000

const Leaf = ({ value }: { readonly value: unknown }) => {
  const [whole, setWhole] = useState(false)
  if (typeof value !== "string")
    return <span class={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>
  const isCut = value.length > mostText && !whole
  return (
    <>
      <span class="json-string">{JSON.stringify(isCut ? value.slice(0, mostText) : value)}</span>
      {isCut ? (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          {value.length - mostText} more characters
        </button>
      ) : null}
    </>
  )
}

const summary = (value: object): string => {
  if (Array.isArray(value)) return `[${value.length}]`
  const names = Object.keys(value)
  return line(`{${names.slice(0, 4).join(", ")}${names.length > 4 ? ", …" : ""}}`, 60)
}

const Node = ({
  name,
  open,
  room = mostOpen,
  value
}: {
  readonly name?: string
  readonly value: unknown
  /** Levels to open at first. */
  readonly open: number
  /** This node's share of `mostOpen`. */
  readonly room?: number
}) => {
  const count = typeof value === "object" && value !== null ? Object.keys(value).length : 0
  const [isOpen, setOpen] = useState(open > 0 && (room === mostOpen || count <= room))
  const [shown, setShown] = useState(mostMembers)
  const label = name === undefined ? null : <span class="json-key">{line(name, 120)}: </span>
  if (typeof value !== "object" || value === null || count === 0) {
    return (
      <div class="json-row">
        {label}
        {typeof value === "object" && value !== null ? (
          <span>{Array.isArray(value) ? "[]" : "{}"}</span>
        ) : (
          <Leaf value={value} />
        )}
      </div>
    )
  }
  const members = Object.entries(value)
  return (
    <details class="json-node" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {label}
        <span class="quiet">{summary(value)}</span>
      </summary>
      {isOpen
        ? members
            .slice(0, shown)
            .map(([key, member]) => (
              <Node
                key={key}
                name={key}
                value={member}
                open={open - 1}
                room={Math.floor(room / Math.max(2, Math.min(count, mostMembers)))}
              />
            ))
        : null}
      {isOpen && members.length > shown ? (
        <button type="button" class="small" onClick={() => setShown(shown + 1000)}>
          {members.length - shown} more
        </button>
      ) : null}
    </details>
  )
}

/** `open` levels of the tree are open at first. */
export const Json = ({ open = 2, value }: { readonly value: unknown; readonly open?: number }) => (
  <div class="json">
    <Node value={value} open={open} />
  </div>
)
