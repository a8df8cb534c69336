/** Controls for single values in a form. */
import type { SchemaViolation } from "@effect-mcp/protocol/JsonSchemaValidator"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import { useState } from "preact/hooks"
import { line } from "./format.ts"
import { type FieldKind, text, textOf } from "./schema.ts"

export interface FieldProps {
  readonly name: string
  readonly schema: unknown
  readonly root: JsonObject
  readonly value: unknown
  readonly required: boolean
  /** JSON Pointer to the value. */
  readonly path: string
  readonly violations: ReadonlyArray<SchemaViolation>
  readonly depth: number
  readonly change: (value: unknown) => void
  /** Removes the field, if it is a list item or a map entry. */
  readonly remove?: (() => void) | undefined
}

/** A field whose schema has been resolved. */
export interface Edited extends Omit<FieldProps, "schema"> {
  readonly schema: JsonObject
  readonly id: string
  readonly described: string | undefined
}

const placeholder = ({ default: given, examples, format }: JsonObject): string => {
  const [first] = Array.isArray(examples) ? examples : []
  const shown = first ?? given
  return shown === undefined ? (text(format) ?? "") : textOf(shown)
}

/** The keywords that limit a value, as text. */
export const limits = (schema: JsonObject): string =>
  [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems"
  ]
    .flatMap((key) => (schema[key] === undefined ? [] : [`${key} ${textOf(schema[key])}`]))
    .join(", ")

/** Keyboard of a phone. */
const keyboardOf = (format: string | undefined): "email" | "text" | "url" =>
  format === "email" ? format : format === "uri" || format === "url" ? "url" : "text"

export const TextField = ({
  change,
  described,
  id,
  required,
  schema,
  value,
  ...kind
}: Edited & Extract<FieldKind, { readonly _tag: "Text" }>) => {
  const shared = {
    id,
    value: textOf(value),
    placeholder: placeholder(schema),
    "aria-describedby": described,
    autocomplete: "off",
    spellcheck: false,
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      change(currentTarget.value === "" && !required ? undefined : currentTarget.value)
  }
  if (kind.long) return <textarea rows={1} {...shared} />
  return kind.format === "date" ? (
    <input type="date" {...shared} />
  ) : (
    <input inputMode={keyboardOf(kind.format)} {...shared} />
  )
}

export const NumberField = ({ change, described, id, schema, value }: Edited) => (
  <input
    id={id}
    inputMode="decimal"
    value={textOf(value)}
    placeholder={placeholder(schema)}
    aria-describedby={described}
    autocomplete="off"
    onInput={({ currentTarget: { value: typed } }) => {
      const number = Number(typed)
      // Text that is not a number stays unchanged, and the schema reports it.
      change(typed.trim() === "" ? undefined : Number.isFinite(number) && !typed.endsWith(".") ? number : typed)
    }}
  />
)

export const ChoiceField = ({
  change,
  choices,
  described,
  id,
  value
}: Edited & Extract<FieldKind, { readonly _tag: "Choice" }>) => {
  const at = choices.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(value))
  return (
    <select
      id={id}
      value={String(at)}
      aria-describedby={described}
      onChange={({ currentTarget }) => change(choices[Number(currentTarget.value)]?.value)}
    >
      <option value="-1">(not set)</option>
      {choices.map(({ title }, index) => (
        <option key={index} value={String(index)}>
          {line(title, 100)}
        </option>
      ))}
    </select>
  )
}

export const BooleanField = ({ change, described, id, required, value }: Edited) =>
  required ? (
    <input
      id={id}
      type="checkbox"
      checked={value === true}
      aria-describedby={described}
      onChange={({ currentTarget }) => change(currentTarget.checked)}
    />
  ) : (
    <select
      id={id}
      value={textOf(value)}
      aria-describedby={described}
      onChange={({ currentTarget }) => change(currentTarget.value === "" ? undefined : currentTarget.value === "true")}
    >
      <option value="">(not set)</option>
      <option value="true">true</option>
      <option value="false">false</option>
    </select>
  )

export const ManyField = ({ change, choices, value }: Edited & Extract<FieldKind, { readonly _tag: "Many" }>) => {
  const chosen = new Set((Array.isArray(value) ? value : []).map((each) => JSON.stringify(each)))
  return (
    <div class="choices">
      {choices.map((choice, at) => {
        const key = JSON.stringify(choice.value)
        return (
          <label key={at} class="inline">
            <input
              type="checkbox"
              checked={chosen.has(key)}
              onChange={({ currentTarget }) => {
                if (currentTarget.checked) chosen.add(key)
                else chosen.delete(key)
                change(choices.filter((each) => chosen.has(JSON.stringify(each.value))).map((each) => each.value))
              }}
            />
            {line(choice.title, 100)}
          </label>
        )
      })}
    </div>
  )
}

/** Any JSON, as text. */
export const JsonField = ({
  change,
  id,
  label,
  rows = 3,
  value
}: {
  readonly id: string
  readonly value: unknown
  readonly rows?: number
  readonly label?: string
  readonly change: (value: unknown) => void
}) => {
  const [typed, setTyped] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)))
  const [wrong, setWrong] = useState("")
  return (
    <>
      <textarea
        id={id}
        class="code"
        rows={rows}
        value={typed}
        placeholder="JSON"
        spellcheck={false}
        aria-label={label}
        aria-invalid={wrong !== ""}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value)
          try {
            change(currentTarget.value.trim() === "" ? undefined : JSON.parse(currentTarget.value))
            setWrong("")
          } catch (error) {
            setWrong(error instanceof Error ? error.message : "This is not JSON")
          }
        }}
      />
      {wrong === "" ? null : <p class="violation">{wrong}</p>}
    </>
  )
}
