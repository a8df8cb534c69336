/** Contents of `WWW-Authenticate` in a rejected request (RFC 6750, RFC 9728). */

export interface Challenge {
  error?: string | undefined
  scope?: string | undefined
  resourceMetadataUrl?: URL | undefined
  errorDescription?: string | undefined
}

/** Returns the `Bearer` challenge of a response, or an empty object if there is none. */
export const extractWWWAuthenticateParams = ({ headers }: Response): Challenge => {
  const [, text] = /^bearer\s+(.*)$/is.exec(headers.get("www-authenticate") ?? "") ?? []
  if (text === undefined) return {}
  const params = new Map(
    [...text.matchAll(/([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g)].map(([, name = "", quoted, plain]) => [
      name.toLowerCase(),
      quoted?.replaceAll(/\\(.)/g, "$1") ?? plain
    ])
  )
  const url = params.get("resource_metadata")
  return {
    error: params.get("error"),
    scope: params.get("scope"),
    errorDescription: params.get("error_description"),
    resourceMetadataUrl: url !== undefined && URL.canParse(url) ? new URL(url) : undefined
  }
}
