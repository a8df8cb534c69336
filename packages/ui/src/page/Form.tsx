/** A form from a JSON Schema: nested objects, arrays, unions and maps, with examples, defaults and violations beside their fields. */
import { compile, type SchemaViolation } from "@effect-mcp/protocol/JsonSchemaValidator"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Result from "effect/Result"
import { useId, useMemo, useState } from "preact/hooks"
import {
  BooleanField,
  ChoiceField,
  type Edited,
  type FieldProps,
  JsonField,
  limits,
  ManyField,
  NumberField,
  TextField
} from "./Controls.tsx"
import { line } from "./format.ts"
import { example, type FieldKind, initial, isObject, kindOf, mostDepth, resembles, resolve } from "./schema.ts"

const ArrayField = ({
  change,
  depth,
  items,
  name,
  path,
  root,
  value,
  violations
}: Edited & Extract<FieldKind, { readonly _tag: "Array" }>) => {
  const all: ReadonlyArray<unknown> = Array.isArray(value) ? value : []
  return (
    <div class="nested">
      {all.map((item, at) => (
        <Field
          key={at}
          name={`${name} ${at + 1}`}
          schema={items}
          root={root}
          value={item}
          required
          path={`${path}/${at}`}
          violations={violations}
          depth={depth + 1}
          change={(next) => change(all.map((each, index) => (index === at ? next : each)))}
          remove={() => change(all.filter((_, index) => index !== at))}
        />
      ))}
      <button type="button" class="small" onClick={() => change([...all, initial(items, root) ?? null])}>
        Add to {line(name, 40)}
      </button>
    </div>
  )
}

const grouped: ReadonlyArray<FieldKind["_tag"]> = ["Array", "Many", "Object", "Union"]

const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")

const ObjectField = ({
  change,
  depth,
  needed,
  others,
  path,
  properties,
  root,
  value,
  violations
}: Edited & Extract<FieldKind, { readonly _tag: "Object" }>) => {
  const current = isObject(value) ? value : {}
  const [added, setAdded] = useState("")
  const set = (key: string, next: unknown) => {
    const { [key]: _, ...rest } = current
    change(next === undefined ? rest : { ...current, [key]: next })
  }
  const known = new Set(properties.map(([key]) => key))
  const extra = Object.keys(current).filter((key) => !known.has(key))
  const add = () => {
    if (added !== "" && !Object.hasOwn(current, added)) set(added, initial(others, root) ?? null)
    setAdded("")
  }
  return (
    <div class={depth === 0 ? "fields" : "nested"}>
      {[...properties, ...extra.map((key) => [key, others ?? {}] as const)].map(([key, schema]) => (
        <Field
          key={key}
          name={key}
          schema={schema}
          root={root}
          value={Object.hasOwn(current, key) ? current[key] : undefined}
          required={needed.includes(key)}
          path={`${path}/${escaped(key)}`}
          violations={violations}
          depth={depth + 1}
          change={(next) => set(key, next)}
          remove={known.has(key) ? undefined : () => set(key, undefined)}
        />
      ))}
      {others === undefined || (depth === 0 && properties.length === 0 && !isObject(others)) ? null : (
        <div class="bar">
          <input
            value={added}
            aria-label="Name of a property to add"
            placeholder="Name of a property"
            onInput={({ currentTarget }) => setAdded(currentTarget.value)}
          />
          <button type="button" class="small" onClick={add}>
            Add property
          </button>
        </div>
      )}
    </div>
  )
}

const UnionField = (props: Edited & Extract<FieldKind, { readonly _tag: "Union" }>) => {
  const { change, id, name, required, root, value, variants } = props
  const [chosen, choose] = useState(() => {
    if (value !== undefined) {
      const fitting = variants.findIndex((each) => resembles(each.schema, root, value))
      return Math.max(0, fitting)
    }
    // A group without a value isn't opened, because it may contain itself.
    const [first] = variants
    return required && first !== undefined && !grouped.includes(kindOf(first.schema, root)._tag) ? 0 : -1
  })
  const variant = variants[chosen]
  return (
    <div class="nested">
      <select
        id={id}
        value={String(chosen)}
        aria-label={`Kind of ${line(name, 60)}`}
        onChange={({ currentTarget }) => {
          const at = Number(currentTarget.value)
          choose(at)
          change(at < 0 ? undefined : initial(variants[at]?.schema, root))
        }}
      >
        {required && chosen >= 0 ? null : <option value="-1">(not set)</option>}
        {variants.map(({ title }, at) => (
          <option key={at} value={String(at)}>
            {line(title, 100)}
          </option>
        ))}
      </select>
      {variant === undefined ? null : (
        <Editor key={chosen} {...props} id={`${id}-of`} schema={variant.schema} required depth={props.depth + 1} />
      )}
    </div>
  )
}

/** The control for a schema. */
const Editor = (props: Edited) => {
  const kind = props.depth > mostDepth ? ({ _tag: "Json" } as const) : kindOf(props.schema, props.root)
  switch (kind._tag) {
    case "Text":
      return <TextField {...props} {...kind} />
    case "Number":
      return <NumberField {...props} />
    case "Boolean":
      return <BooleanField {...props} />
    case "Choice":
      return <ChoiceField {...props} {...kind} />
    case "Many":
      return <ManyField {...props} {...kind} />
    case "Array":
      return <ArrayField {...props} {...kind} />
    case "Object":
      return <ObjectField {...props} {...kind} />
    case "Union":
      return <UnionField {...props} {...kind} />
    default:
      return <JsonField id={props.id} value={props.value} change={props.change} />
  }
}

/** A labelled control with its description, limits and violations. */
export const Field = (props: FieldProps) => {
  const { change, name, path, remove, required, root, value, violations } = props
  const id = useId()
  const schema = useMemo(() => resolve(props.schema, root), [props.schema, root])
  const { description, title } = schema
  const kind = props.depth > mostDepth ? "Json" : kindOf(schema, root)._tag
  const own = violations.filter((each) => each.path === path)
  const hint = limits(schema)
  const isMissing = value === undefined && (kind === "Object" || kind === "Array")
  const label = (
    <>
      <span class="name">{line(name, 100)}</span>
      {required && remove === undefined ? <span class="required"> required</span> : null}
      {typeof title === "string" && title.toLowerCase() !== name.toLowerCase() ? (
        <span class="quiet"> {line(title, 100)}</span>
      ) : null}
    </>
  )
  const body = isMissing ? (
    <button type="button" class="small" onClick={() => change(initial(schema, root))}>
      Set {line(name, 40)}
    </button>
  ) : (
    <Editor {...props} id={id} schema={schema} described={`${id}-about`} />
  )
  const about = (
    <p id={`${id}-about`} class="about">
      {typeof description === "string" ? line(description, 1000) : null}
      {hint === "" ? null : <span class="limits"> {line(hint, 300)}</span>}
    </p>
  )
  const wrong = own.map(({ message }, at) => (
    <p key={at} class="violation">
      {line(message, 300)}
    </p>
  ))
  const away =
    remove === undefined ? null : (
      <button type="button" class="small" aria-label={`Remove ${line(name, 60)}`} onClick={remove}>
        Remove
      </button>
    )
  return grouped.includes(kind) ? (
    <fieldset class="field">
      <legend>
        {label} {away}
      </legend>
      {about}
      {body}
      {wrong}
    </fieldset>
  ) : (
    <div class="field">
      <div class="bar">
        <label for={id}>{label}</label>
        {away}
      </div>
      {about}
      {body}
      {wrong}
    </div>
  )
}

/** Returns the violations of a value, or why it can't be checked. */
export const useViolations = (schema: JsonObject, value: unknown): ReadonlyArray<SchemaViolation> => {
  const compiled = useMemo(() => compile(schema, { formats: true }), [schema])
  return useMemo(
    () =>
      Result.isSuccess(compiled)
        ? compiled.success(value)
        : [{ path: "", message: `The server's schema can't be used: ${compiled.failure.message}` }],
    [compiled, value]
  )
}

/** An object's whole form, as fields or as JSON. */
export const SchemaForm = ({
  change,
  schema,
  value,
  violations
}: {
  readonly schema: JsonObject
  readonly value: JsonObject
  readonly violations: ReadonlyArray<SchemaViolation>
  readonly change: (value: JsonObject) => void
}) => {
  const [asJson, setAsJson] = useState(false)
  const [filled, setFilled] = useState(0)
  const id = useId()
  const root = useMemo(() => resolve(schema, schema), [schema])
  const take = (next: unknown) => change(isObject(next) ? next : {})
  const fill = (next: unknown) => {
    take(next)
    // Fields that have their own state start again.
    setFilled(filled + 1)
  }
  const kind = kindOf({ ...root, type: "object" }, schema)
  const isEmpty = kind._tag === "Object" && kind.properties.length === 0
  return (
    <div>
      <div class="bar tools">
        <button type="button" class="small" aria-pressed={asJson} onClick={() => setAsJson(!asJson)}>
          {asJson ? "Edit as fields" : "Edit as JSON"}
        </button>
        <button type="button" class="small" onClick={() => fill(example(schema, schema))}>
          Fill in an example
        </button>
        <button type="button" class="small" onClick={() => fill(initial(schema, schema))}>
          Reset
        </button>
      </div>
      {isEmpty && !asJson ? <p class="quiet">It takes no arguments, according to its schema.</p> : null}
      {asJson ? (
        <JsonField key={filled} id={id} label="Arguments as JSON" rows={10} value={value} change={take} />
      ) : (
        <Editor
          key={filled}
          name="arguments"
          id={id}
          described={undefined}
          schema={{ ...root, type: "object" }}
          root={schema}
          value={value}
          required
          path=""
          violations={violations}
          depth={0}
          change={take}
        />
      )}
      {violations
        .filter(({ path }) => path === "")
        .map(({ message }, at) => (
          <p key={at} class="violation">
            {line(message, 300)}
          </p>
        ))}
    </div>
  )
}
