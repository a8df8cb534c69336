/** Views with suggestions from the server: resource templates and prompts. */
import type { Prompt } from "@effect-mcp/protocol/model/Prompt"
import type { ResourceTemplate } from "@effect-mcp/protocol/model/Resource"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import * as Result from "effect/Result"
import { useId, useMemo, useRef, useState } from "preact/hooks"
import { line } from "./format.ts"
import { About, isConnected, Recent } from "./Parts.tsx"
import { link, route } from "./route.ts"
import { connection, say, send } from "./state.ts"

interface Completed {
  readonly ref:
    | { readonly type: "ref/prompt"; readonly name: string }
    | { readonly type: "ref/resource"; readonly uri: string }
  readonly name: string
  readonly description?: string | undefined
  readonly required: boolean
  readonly values: { readonly [name: string]: string }
  readonly change: (value: string) => void
}

/** A text field with the server's suggestions. */
const CompletedField = ({ change, description, name: of, ref, required, values }: Completed) => {
  const id = useId()
  const [suggested, suggest] = useState<ReadonlyArray<string>>([])
  const hasCompletions =
    connection.value.capabilities?.completions !== undefined || connection.value.revision === "2024-11-05"
  const asked = useRef(0)
  const ask = async (value: string) => {
    if (!hasCompletions) return
    const at = ++asked.current
    const { [of]: _, ...others } = values
    const answer = await send({ _tag: "Complete", ref, argument: { name: of, value }, others })
    // An older answer may arrive later.
    if (at === asked.current)
      suggest(Array.isArray(answer?.["values"]) ? answer["values"].filter((each) => typeof each === "string") : [])
  }
  return (
    <div class="field">
      <label for={id}>
        <span class="name">{line(of, 100)}</span>
        {required ? <span class="required"> required</span> : null}
      </label>
      {description === undefined ? null : <p class="about">{line(description, 500)}</p>}
      <input
        id={id}
        list={`${id}-list`}
        value={values[of] ?? ""}
        autocomplete="off"
        onFocus={({ currentTarget }) => void ask(currentTarget.value)}
        onInput={({ currentTarget }) => {
          change(currentTarget.value)
          void ask(currentTarget.value)
        }}
      />
      <datalist id={`${id}-list`}>
        {suggested.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
      {suggested.every((value) => value === values[of]) ? null : (
        <p class="choices" role="group" aria-label={`Suggestions for ${line(of, 60)}`}>
          {suggested.slice(0, 12).map((value) => (
            <button key={value} type="button" class="small" onClick={() => change(value)}>
              {line(value, 60)}
            </button>
          ))}
        </p>
      )}
    </div>
  )
}

const textsOf = (args: { readonly [name: string]: unknown } | undefined): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(args ?? {}).map(([key, value]) => [key, String(value)]))

/** A template's URI with these values. A template that can't be parsed stays unchanged. */
const expanded = (template: string, values: { readonly [name: string]: string }): string => {
  const parsed = UriTemplate.parse(template)
  return Result.isSuccess(parsed) ? UriTemplate.expand(parsed.success, values) : template
}

const variablesOf = (template: string): ReadonlyArray<string> => {
  const parsed = UriTemplate.parse(template)
  return Result.isSuccess(parsed) ? [...new Set(UriTemplate.variables(parsed.success))] : []
}

export const TemplateView = ({ template }: { readonly template: ResourceTemplate }) => {
  const { description, name: of, title, uriTemplate } = template
  const [values, setValues] = useState(() => textsOf(route.value.args))
  const names = useMemo(() => variablesOf(uriTemplate), [uriTemplate])
  const uri = expanded(uriTemplate, values)
  return (
    <>
      <section class="card">
        <header class="bar">
          <h2>{line(title ?? of, 120)}</h2>
          <span class="badge">template</span>
        </header>
        <p>
          <code>{line(uriTemplate, 500)}</code>
        </p>
        <About description={description} raw={template} />
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void send({ _tag: "Read", uri })
            location.hash = link("resource", uri)
          }}
        >
          {names.map((each) => (
            <CompletedField
              key={each}
              ref={{ type: "ref/resource", uri: uriTemplate }}
              name={each}
              required
              values={values}
              change={(value) => setValues({ ...values, [each]: value })}
            />
          ))}
          <p class="field">
            <span class="quiet">Reads</span> <code>{line(uri, 500)}</code>
          </p>
          <div class="bar end">
            <a class="button" href={link("resource", uri)}>
              Open
            </a>
            <button type="submit" class="primary" disabled={!isConnected()}>
              Read
            </button>
          </div>
        </form>
      </section>
      <Recent kind="resource" of={uri} />
    </>
  )
}

export const PromptView = ({ prompt }: { readonly prompt: Prompt }) => {
  const { arguments: args = [], description, name: of, title } = prompt
  const [values, setValues] = useState(() => textsOf(route.value.args))
  const missing = args.filter(({ name, required }) => required === true && (values[name] ?? "") === "")
  return (
    <>
      <section class="card">
        <header class="bar">
          <h2>{line(title ?? of, 120)}</h2>
          {title === undefined ? null : <code>{line(of, 120)}</code>}
        </header>
        <About description={description} raw={prompt} />
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (missing.length > 0) say(`Missing: ${missing.map(({ name }) => line(name, 40)).join(", ")}`)
            const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""))
            void send({ _tag: "Get", prompt: of, arguments: given })
          }}
        >
          {args.map((each) => (
            <CompletedField
              key={each.name}
              ref={{ type: "ref/prompt", name: of }}
              name={each.name}
              description={each.description}
              required={each.required === true}
              values={values}
              change={(value) => setValues({ ...values, [each.name]: value })}
            />
          ))}
          <div class="bar end">
            <button type="submit" class="primary" disabled={!isConnected()}>
              {missing.length === 0 ? "Get" : "Get anyway"}
            </button>
          </div>
        </form>
      </section>
      <Recent kind="prompt" of={of} />
    </>
  )
}
