/**
 * A server's catalog. It registers the extension's methods, and a resource template for the files, when the first skills layer needs it.
 */
import * as CacheHint from "@effect-mcp/core/CacheHint"
import * as Extensions from "@effect-mcp/core/Extensions"
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Resources from "@effect-mcp/core/Resources"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { SkillsExtension } from "../model/SkillsExtension.ts"
import { Catalog, type SeenSkill, type SkillSource, type SkillSourceOptions } from "./SkillCatalog.ts"
import { contentsOf, InvalidSkills, type ServedSkill } from "./ServedSkill.ts"

/** The catalog of a server. */
export class SkillCatalog extends Context.Service<
  SkillCatalog,
  {
    /** Fails if another source has one of the skills, or if two of them have the same address. */
    readonly check: (source: SkillSource, skills: ReadonlyArray<ServedSkill>) => Effect.Effect<void, InvalidSkills>
    /** Adds a source for the lifetime of the scope. */
    readonly add: (source: SkillSource) => Effect.Effect<void, never, Scope.Scope>
    /** Announces that a source's skills have changed. */
    readonly changed: Effect.Effect<void>
  }
>()("@effect-mcp/skills/SkillCatalog") {}

/** Number of entries per page. */
const pageSize = 100

/** Returns the page after the item that the cursor names. Items are sorted by URI, so it continues correctly after any change. */
const pageOf = <A>(items: ReadonlyArray<A>, uriOf: (item: A) => string, cursor: string | undefined) => {
  const rest = cursor === undefined ? items : items.filter((item) => uriOf(item) > cursor)
  const page = rest.slice(0, pageSize)
  const last = page.at(-1)
  return { page, ...(last === undefined || rest.length === page.length ? undefined : { nextCursor: uriOf(last) }) }
}

/** Returns the hint for several sources, which is the strictest one. Skills that only some callers see are private. */
const hintOf = (
  all: ReadonlyArray<SkillSourceOptions>
): { readonly ttlMs: number; readonly cacheScope: "private" | "public" } => {
  const hints = all.map((options) => CacheHint.ofRead(options) ?? CacheHint.fields({}))
  return {
    ttlMs: Math.min(...hints.map(({ ttlMs }) => ttlMs), ...(hints.length === 0 ? [0] : [])),
    cacheScope: hints.length > 0 && hints.every(({ cacheScope }) => cacheScope === "public") ? "public" : "private"
  }
}

/** Adds the hint in revisions that define it. */
const cached = <A extends object>(result: A, options: ReadonlyArray<SkillSourceOptions>) =>
  Effect.map(RequestContext, ({ revision }) =>
    revision.era === "stateless" ? { ...result, ...hintOf(options) } : result
  )

const optionsOf = (skills: ReadonlyArray<SeenSkill>) => skills.map(({ options }) => options)

/** The extension's methods. */
const methods = (catalog: Catalog) =>
  Extensions.layer(SkillsExtension, {
    settings: { directoryRead: true },
    requests: {
      list: ({ cursor }) =>
        Effect.flatMap(Principal, (caller) => {
          const { page, ...next } = pageOf(catalog.seenBy(caller), ({ served }) => served.skill.uri, cursor)
          // The hint for all sources, so that every page has the same hint.
          return cached({ skills: page.map(({ served }) => served.skill), ...next }, catalog.options)
        }),
      get: ({ uri }) =>
        Effect.flatMap(Principal, (caller) => {
          const seen = catalog.seenBy(caller).find(({ served }) => served.skill.uri === uri)
          return seen === undefined
            ? Effect.fail(McpError.invalidParams(`There is no skill at ${excerpt(uri)}`))
            : cached({ skill: seen.served.skill }, [seen.options])
        }),
      readDirectory: ({ cursor, uri }) =>
        Effect.flatMap(Principal, (caller) => {
          const children = catalog.children(caller, uri)
          if (children === undefined) {
            return Effect.fail(McpError.invalidParams(`${excerpt(uri)} is not a directory resource`))
          }
          const { page, ...next } = pageOf(children, (child) => child.uri, cursor)
          return cached({ resources: page, ...next }, optionsOf(catalog.seenBy(caller)))
        })
    }
  })

/** All skills' files as resources. Only each `SKILL.md` is listed. */
const files = (catalog: Catalog, changes: PubSub.PubSub<void>) =>
  Resources.layerTemplate(
    {
      uriTemplate: "skill://{+path}",
      name: "skill-file",
      title: "Skill file",
      list: Effect.map(Principal, (caller) => catalog.manifests(caller)),
      visible: (caller, uri) => uri === undefined || catalog.file(caller, uri) !== undefined
    },
    (_, uri) =>
      Effect.flatMap(Principal, (caller) => {
        const found = catalog.file(caller, uri)
        return found === undefined
          ? Effect.fail(new Resources.ResourceNotFound({ uri }))
          : Effect.succeed({ ...hintOf([found.options]), contents: [contentsOf(found.file)] })
      }),
    (_, uri) =>
      Stream.fromPubSub(changes).pipe(
        Stream.map(() => catalog.digest(uri)),
        Stream.changes
      )
  )

/** Shared by every layer of skills in a server. A server builds its features with its own memo map, so no two servers share it. */
export const layer: Layer.Layer<SkillCatalog, never, Resources.ResourceRegistry | Extensions.ExtensionRegistry> =
  Layer.unwrap(
    Effect.gen(function* () {
      const catalog = new Catalog()
      const changes = yield* PubSub.sliding<void>(16)
      const registry = yield* Resources.ResourceRegistry
      const changed = Effect.andThen(PubSub.publish(changes, undefined), registry.changed)
      const service = SkillCatalog.of({
        changed,
        check: (source, skills) =>
          Effect.suspend(() => {
            const twice = catalog.clash(source, skills)
            if (twice === undefined) return Effect.void
            const message = "This server already has a skill with the same path"
            return Effect.fail(new InvalidSkills({ problems: [{ place: twice, rule: "clash", message }] }))
          }),
        add: (source) =>
          Effect.asVoid(
            Effect.acquireRelease(
              Effect.andThen(
                Effect.sync(() => catalog.add(source)),
                changed
              ),
              () =>
                Effect.andThen(
                  Effect.sync(() => catalog.remove(source)),
                  changed
                )
            )
          )
      })
      return Layer.mergeAll(Layer.succeed(SkillCatalog, service), methods(catalog), files(catalog, changes))
    })
  )
