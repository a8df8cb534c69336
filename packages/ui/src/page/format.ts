/** Numbers and times as people read them. */

/** A duration in milliseconds. */
export const duration = (ms: number): string => {
  if (ms < 1) return "<1 ms"
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

export const bytes = (count: number): string => {
  if (count < 1024) return `${count} B`
  return count < 1024 * 1024 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1024 / 1024).toFixed(1)} MiB`
}

/** A count and its noun, such as "1 tool" and "2 tools". */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** Time of day with milliseconds. */
export const time = (at: number): string => {
  const date = new Date(at)
  const two = (part: number) => String(part).padStart(2, "0")
  const ms = String(date.getMilliseconds()).padStart(3, "0")
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`
}

/** Day and time, without seconds. */
export const day = (at: number): string =>
  new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })

/** Matches control characters and changes of direction. */
export const invisible = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** One line of text, truncated if it is long. Control characters and changes of direction become visible. */
export const line = (text: string, most = 200): string => {
  const start = text.slice(0, most)
  const flat = start.replace(invisible, (c) => (/\s/.test(c) ? " " : "�"))
  return text.length > most ? `${flat}…` : flat
}

/** Heading of a list, such as "Resource templates" for `resourceTemplates`. */
export const heading = (list: string): string =>
  list.replaceAll(/^.|[A-Z]/g, (letter, at) => (at === 0 ? letter.toUpperCase() : ` ${letter.toLowerCase()}`))
