/** A URL out of text, or undefined: `URL.parse` is too new for the oldest runtime that is supported. */
export const parseUrl = (text: string, base?: string): URL | undefined =>
  URL.canParse(text, base) ? new URL(text, base) : undefined
