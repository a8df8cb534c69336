import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"

const template = (source: string) => Result.getOrThrow(UriTemplate.parse(source))
const match = (source: string, uri: string) => UriTemplate.match(template(source), uri)

// The variables of RFC 6570 section 3.2, which include the variables of section 1.2.
const values = {
  count: ["one", "two", "three"],
  dom: ["example", "com"],
  dub: "me/too",
  hello: "Hello World!",
  half: "50%",
  var: "value",
  who: "fred",
  base: "http://example.com/home/",
  path: "/foo/bar",
  list: ["red", "green", "blue"],
  keys: { semi: ";", dot: ".", comma: "," },
  v: "6",
  x: "1024",
  y: "768",
  empty: "",
  empty_keys: {},
  undef: null
} as const

const examples: ReadonlyArray<readonly [template: string, expansion: string]> = [
  // 1.2 Level 1 Examples
  ["{var}", "value"],
  ["'{var}'", "'value'"],
  ["{hello}", "Hello%20World%21"],
  // 1.2 Level 2 Examples
  ["{+var}", "value"],
  ["{+hello}", "Hello%20World!"],
  ["{+path}/here", "/foo/bar/here"],
  ["here?ref={+path}", "here?ref=/foo/bar"],
  // 1.2 Level 3 Examples
  ["map?{x,y}", "map?1024,768"],
  ["{x,hello,y}", "1024,Hello%20World%21,768"],
  ["{+x,hello,y}", "1024,Hello%20World!,768"],
  ["{+path,x}/here", "/foo/bar,1024/here"],
  ["{#x,hello,y}", "#1024,Hello%20World!,768"],
  ["{#path,x}/here", "#/foo/bar,1024/here"],
  ["X{.var}", "X.value"],
  ["X{.x,y}", "X.1024.768"],
  ["{/var}", "/value"],
  ["{/var,x}/here", "/value/1024/here"],
  ["{;x,y}", ";x=1024;y=768"],
  ["{;x,y,empty}", ";x=1024;y=768;empty"],
  ["{?x,y}", "?x=1024&y=768"],
  ["{?x,y,empty}", "?x=1024&y=768&empty="],
  ["?fixed=yes{&x}", "?fixed=yes&x=1024"],
  ["{&x,y,empty}", "&x=1024&y=768&empty="],
  // 1.2 Level 4 Examples
  ["{var:3}", "val"],
  ["{var:30}", "value"],
  ["{list}", "red,green,blue"],
  ["{list*}", "red,green,blue"],
  ["{keys}", "semi,%3B,dot,.,comma,%2C"],
  ["{keys*}", "semi=%3B,dot=.,comma=%2C"],
  ["{+path:6}/here", "/foo/b/here"],
  ["{+list}", "red,green,blue"],
  ["{+list*}", "red,green,blue"],
  ["{+keys}", "semi,;,dot,.,comma,,"],
  ["{+keys*}", "semi=;,dot=.,comma=,"],
  ["{#path:6}/here", "#/foo/b/here"],
  ["{#list}", "#red,green,blue"],
  ["{#list*}", "#red,green,blue"],
  ["{#keys}", "#semi,;,dot,.,comma,,"],
  ["{#keys*}", "#semi=;,dot=.,comma=,"],
  ["X{.var:3}", "X.val"],
  ["X{.list}", "X.red,green,blue"],
  ["X{.list*}", "X.red.green.blue"],
  ["X{.keys}", "X.semi,%3B,dot,.,comma,%2C"],
  ["{/var:1,var}", "/v/value"],
  ["{/list}", "/red,green,blue"],
  ["{/list*}", "/red/green/blue"],
  ["{/list*,path:4}", "/red/green/blue/%2Ffoo"],
  ["{/keys}", "/semi,%3B,dot,.,comma,%2C"],
  ["{/keys*}", "/semi=%3B/dot=./comma=%2C"],
  ["{;hello:5}", ";hello=Hello"],
  ["{;list}", ";list=red,green,blue"],
  ["{;list*}", ";list=red;list=green;list=blue"],
  ["{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"],
  ["{;keys*}", ";semi=%3B;dot=.;comma=%2C"],
  ["{?var:3}", "?var=val"],
  ["{?list}", "?list=red,green,blue"],
  ["{?list*}", "?list=red&list=green&list=blue"],
  ["{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"],
  ["{?keys*}", "?semi=%3B&dot=.&comma=%2C"],
  ["{&var:3}", "&var=val"],
  ["{&list}", "&list=red,green,blue"],
  ["{&list*}", "&list=red&list=green&list=blue"],
  ["{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"],
  ["{&keys*}", "&semi=%3B&dot=.&comma=%2C"],
  // 2.1 Literals
  ["'{count}'", "'one,two,three'"],
  // 3.2.1 Variable Expansion
  ["{count}", "one,two,three"],
  ["{count*}", "one,two,three"],
  ["{/count}", "/one,two,three"],
  ["{/count*}", "/one/two/three"],
  ["{;count}", ";count=one,two,three"],
  ["{;count*}", ";count=one;count=two;count=three"],
  ["{?count}", "?count=one,two,three"],
  ["{?count*}", "?count=one&count=two&count=three"],
  ["{&count*}", "&count=one&count=two&count=three"],
  // 3.2.2 Simple String Expansion
  ["{var}", "value"],
  ["{hello}", "Hello%20World%21"],
  ["{half}", "50%25"],
  ["O{empty}X", "OX"],
  ["O{undef}X", "OX"],
  ["{x,y}", "1024,768"],
  ["{x,hello,y}", "1024,Hello%20World%21,768"],
  ["?{x,empty}", "?1024,"],
  ["?{x,undef}", "?1024"],
  ["?{undef,y}", "?768"],
  ["{var:3}", "val"],
  ["{var:30}", "value"],
  ["{list}", "red,green,blue"],
  ["{list*}", "red,green,blue"],
  ["{keys}", "semi,%3B,dot,.,comma,%2C"],
  ["{keys*}", "semi=%3B,dot=.,comma=%2C"],
  // 3.2.3 Reserved Expansion
  ["{+var}", "value"],
  ["{/var,empty}", "/value/"],
  ["{/var,undef}", "/value"],
  ["{+hello}", "Hello%20World!"],
  ["{+half}", "50%25"],
  ["{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"],
  ["{+base}index", "http://example.com/home/index"],
  ["O{+empty}X", "OX"],
  ["O{+undef}X", "OX"],
  ["{+path}/here", "/foo/bar/here"],
  ["{+path:6}/here", "/foo/b/here"],
  ["here?ref={+path}", "here?ref=/foo/bar"],
  ["up{+path}{var}/here", "up/foo/barvalue/here"],
  ["{+x,hello,y}", "1024,Hello%20World!,768"],
  ["{+path,x}/here", "/foo/bar,1024/here"],
  ["{+list}", "red,green,blue"],
  ["{+list*}", "red,green,blue"],
  ["{+keys}", "semi,;,dot,.,comma,,"],
  ["{+keys*}", "semi=;,dot=.,comma=,"],
  // 3.2.4 Fragment Expansion
  ["{#var}", "#value"],
  ["{#hello}", "#Hello%20World!"],
  ["{#half}", "#50%25"],
  ["foo{#empty}", "foo#"],
  ["foo{#undef}", "foo"],
  ["{#x,hello,y}", "#1024,Hello%20World!,768"],
  ["{#path,x}/here", "#/foo/bar,1024/here"],
  ["{#path:6}/here", "#/foo/b/here"],
  ["{#list}", "#red,green,blue"],
  ["{#list*}", "#red,green,blue"],
  ["{#keys}", "#semi,;,dot,.,comma,,"],
  // 3.2.5 Label Expansion with Dot-Prefix
  ["{.who}", ".fred"],
  ["{.who,who}", ".fred.fred"],
  ["{.half,who}", ".50%25.fred"],
  ["www{.dom*}", "www.example.com"],
  ["X{.var}", "X.value"],
  ["X{.var:3}", "X.val"],
  ["X{.empty}", "X."],
  ["X{.undef}", "X"],
  ["X{.list}", "X.red,green,blue"],
  ["X{.list*}", "X.red.green.blue"],
  ["{#keys}", "#semi,;,dot,.,comma,,"],
  ["{#keys*}", "#semi=;,dot=.,comma=,"],
  ["X{.empty_keys}", "X"],
  ["X{.empty_keys*}", "X"],
  // 3.2.6 Path Segment Expansion
  ["{/who}", "/fred"],
  ["{/who,who}", "/fred/fred"],
  ["{/half,who}", "/50%25/fred"],
  ["{/who,dub}", "/fred/me%2Ftoo"],
  ["{/var}", "/value"],
  ["{/var,empty}", "/value/"],
  ["{/var,undef}", "/value"],
  ["{/var,x}/here", "/value/1024/here"],
  ["{/var:1,var}", "/v/value"],
  ["{/list}", "/red,green,blue"],
  ["{/list*}", "/red/green/blue"],
  ["{/list*,path:4}", "/red/green/blue/%2Ffoo"],
  ["{/keys}", "/semi,%3B,dot,.,comma,%2C"],
  ["{/keys*}", "/semi=%3B/dot=./comma=%2C"],
  // 3.2.7 Path-Style Parameter Expansion
  ["{;who}", ";who=fred"],
  ["{;half}", ";half=50%25"],
  ["{;empty}", ";empty"],
  ["{;hello:5}", ";hello=Hello"],
  ["{;v,empty,who}", ";v=6;empty;who=fred"],
  ["{;v,bar,who}", ";v=6;who=fred"],
  ["{;x,y}", ";x=1024;y=768"],
  ["{;x,y,empty}", ";x=1024;y=768;empty"],
  ["{;x,y,undef}", ";x=1024;y=768"],
  ["{;list}", ";list=red,green,blue"],
  ["{;list*}", ";list=red;list=green;list=blue"],
  ["{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"],
  ["{;keys*}", ";semi=%3B;dot=.;comma=%2C"],
  // 3.2.8 Form-Style Query Expansion
  ["{?who}", "?who=fred"],
  ["{?half}", "?half=50%25"],
  ["{?x,y}", "?x=1024&y=768"],
  ["{?x,y,empty}", "?x=1024&y=768&empty="],
  ["{?x,y,undef}", "?x=1024&y=768"],
  ["{?var:3}", "?var=val"],
  ["{?list}", "?list=red,green,blue"],
  ["{?list*}", "?list=red&list=green&list=blue"],
  ["{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"],
  ["{?keys*}", "?semi=%3B&dot=.&comma=%2C"],
  // 3.2.9 Form-Style Query Continuation
  ["{&who}", "&who=fred"],
  ["{&half}", "&half=50%25"],
  ["?fixed=yes{&x}", "?fixed=yes&x=1024"],
  ["{&var:3}", "&var=val"],
  ["{&x,y,empty}", "&x=1024&y=768&empty="],
  ["{&x,y,undef}", "&x=1024&y=768"],
  ["{&list}", "&list=red,green,blue"],
  ["{&list*}", "&list=red&list=green&list=blue"],
  ["{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"],
  ["{&keys*}", "&semi=%3B&dot=.&comma=%2C"]
]

const shape = (parts: ReadonlyArray<string>) =>
  Arbitrary.schema(Schema.Array(Schema.Literals(parts)).check(Schema.isMaxLength(4)))

describe("UriTemplate expansion", () => {
  it("UriTemplate.expand matches every example in RFC 6570 sections 1.2 and 3.2", () => {
    for (const [source, expansion] of examples) {
      assert.strictEqual(UriTemplate.expand(template(source), values), expansion, source)
    }
    assert.isAbove(examples.length, 150)
  })

  it("UriTemplate.expand ignores inherited properties of the variables object", () => {
    assert.strictEqual(UriTemplate.expand(template("a{/toString,__proto__}"), {}), "a")
  })

  it("UriTemplate.expand accepts numbers and booleans and replaces lone surrogates", () => {
    assert.strictEqual(
      UriTemplate.expand(template("{n}-{b}-{s}{+s}"), { n: 7, b: true, s: "\ud800" }),
      "7-true-%EF%BF%BD%EF%BF%BD"
    )
  })

  it("UriTemplate.expand percent-encodes literals that a URI does not allow", () => {
    assert.strictEqual(UriTemplate.expand(template("é [%20]{x}"), { x: "1" }), "%C3%A9%20[%20]1")
  })
})

describe("UriTemplate grammar", () => {
  it("UriTemplate.variables lists each variable once, in order", () => {
    assert.deepStrictEqual(UriTemplate.variables(template("a/{x}{?y*,x}{#a.b}")), ["x", "y", "a.b"])
  })

  // The unmatched and malformed expressions of the RFC's test suite, and ours.
  const malformed = [
    "{/id*",
    "/id*}",
    "{/?id}",
    "{var:prefix}",
    "{hello:2*}",
    "{??hello}",
    "{!hello}",
    "{with space}",
    "{ leading}",
    "{trailing }",
    "{=path}",
    "{$var}",
    "{|var*}",
    "{*keys?}",
    "{?empty=default,var}",
    "{var}{-prefix|/-/|var}",
    "?q={searchTerms}&amp;c={example:color?}",
    "x{?empty|foo=none}",
    "/h{#hello+}",
    "/h#{hello+}",
    "{keys:1*}",
    "/people/{~thing}",
    "/{default-graph-uri}",
    "/sparql{?query){&default-graph-uri*}",
    "/resolution{?x, y}",
    "{var:0}",
    "{var:01}",
    "{var:10000}",
    "{var:}",
    "{x.}",
    "{x..y}",
    "{%2x}",
    "{}",
    "{+}",
    "{a,}",
    "{{a}}",
    "a".repeat(9000)
  ]
  for (const source of malformed) {
    it(`UriTemplate.parse rejects ${JSON.stringify(source.slice(0, 40))} with a typed error and its position`, () => {
      const error = Result.getOrThrow(Result.flip(UriTemplate.parse(source)))
      assert.strictEqual(error._tag, "InvalidUriTemplate")
      assert.isAtLeast(error.position, 0)
      assert.isNotEmpty(error.reason)
    })
  }

  it("UriTemplate.parse errors point at the invalid variable", () => {
    const error = Result.getOrThrow(Result.flip(UriTemplate.parse("a{?ok,not ok}")))
    assert.strictEqual(error.position, 6)
  })
})

describe("UriTemplate matching", () => {
  const cases: ReadonlyArray<readonly [source: string, uri: string, bindings: UriTemplate.Bindings | undefined]> = [
    // literals
    ["menu://today", "menu://today", {}],
    ["menu://today", "menu://Today", undefined],
    ["menu://today", "menu://today/", undefined],
    ["", "", {}],
    ["", "a", undefined],
    // simple variables: one or more characters of one segment, percent-decoded
    ["user://{id}/profile", "user://7/profile", { id: "7" }],
    ["user://{id}/profile", "user:///profile", undefined],
    ["user://{id}/profile", "user://7/8/profile", undefined],
    ["file:///{path}", "file:///a/b.txt", undefined],
    ["file:///{path}", "file:///%E2%82%AC%20x", { path: "€ x" }],
    ["file:///{path}", "file:///%E2%82", undefined],
    ["file:///{path}", "file:///%zz", undefined],
    ["file:///{path}", "file:///€", { path: "€" }],
    ["note://{id}", "note://a,b&c", { id: "a,b&c" }],
    ["note://{id}", "note://a?b", undefined],
    ["note://{id}", "note://a#b", undefined],
    ["{name}.{ext}", "a.b.c", { name: "a.b", ext: "c" }],
    ["{a}{b}", "x%41", { a: "x", b: "A" }],
    ["{a}{b}", "xy😀", { a: "xy", b: "😀" }],
    ["q?a={a}&b={b}", "q?a=1&b=2", { a: "1", b: "2" }],
    ["q?a={a}&b={b}", "q?a=1&x=3&b=2", undefined],
    ["{x,y}", "1,2", { x: "1", y: "2" }],
    ["{x,y}", "1", { x: "1" }],
    ["{x,y}", "1,2,3", { x: "1", y: "2,3" }],
    ["{x*}", "1,2", { x: ["1", "2"] }],
    ["{x*,y}", "1,2,3", { x: ["1", "2"], y: "3" }],
    ["{id}/{id}", "7/7", { id: "7" }],
    ["{id}/{id}", "7/8", undefined],
    ["{__proto__}", "7", Object.fromEntries([["__proto__", "7"]])],
    // reserved and fragment
    ["file:///{+path}", "file:///a/b.txt", { path: "a/b.txt" }],
    ["file:///{+path}", "file:///a/b%20c?d#e", { path: "a/b c?d#e" }],
    ["file:///{+path}", "file:///", undefined],
    ["file:///{+path}{?v}", "file:///a/b?v=1", { path: "a/b", v: "1" }],
    ["file:///{+path}{?v}", "file:///a/b", { path: "a/b" }],
    ["file:///{+path}{#at}", "file:///a/b?c#l/1", { path: "a/b?c", at: "l/1" }],
    ["repo://{+path}/tree/{ref}", "repo://a/b/tree/main", { path: "a/b", ref: "main" }],
    ["{base}{#at}", "a#", { base: "a", at: "" }],
    // path segments
    ["f{/a,b}", "f/1/2", { a: "1", b: "2" }],
    ["f{/a,b}", "f/1", { a: "1" }],
    ["f{/a,b}", "f", {}],
    ["f{/a,b}", "f/1/2/3", undefined],
    ["f{/a*}", "f/1/2%203", { a: ["1", "2 3"] }],
    ["f{/a*}/end", "f/1/2/end", { a: ["1", "2"] }],
    ["f{/a*}/end", "f/end", {}],
    // labels
    ["f{.ext}", "f.tar.gz", { ext: "tar.gz" }],
    ["f{.a,b}", "f.tar.gz", { a: "tar", b: "gz" }],
    ["f{.a*}", "f.tar.gz", { a: ["tar", "gz"] }],
    // parameters
    ["f{;x,y}", "f;y=2;x=1", { x: "1", y: "2" }],
    ["f{;x,y}/g", "f;x/g", { x: "" }],
    ["f{;x*}", "f;x=1;x=2", { x: ["1", "2"] }],
    ["f{;x}{;y}", "f;x=1;y=2", { x: "1", y: "2" }],
    // queries
    ["s{?q,n}", "s?n=2&q=a%20b", { q: "a b", n: "2" }],
    ["s{?q,n}", "s?n=2", { n: "2" }],
    ["s{?q,n}", "s", {}],
    ["s{?q,n}", "s?", {}],
    ["s{?q,n}", "s?q=a=b/c?d", { q: "a=b/c?d" }],
    ["s{?q,n}", "s?q=1&other=2", undefined],
    ["s{?q,n}", "s?q=1&q=2", undefined],
    ["s{?q*}", "s?q=1&q=2", { q: ["1", "2"] }],
    ["s{?q*}", "s?q=1", { q: ["1"] }],
    ["s{?q}{&n}", "s?n=2&q=1", { q: "1", n: "2" }],
    ["s?fixed=1{&x}", "s?fixed=1&x=2", { x: "2" }],
    ["s?fixed=1{&x}", "s?x=2&fixed=1", undefined],
    ["s{?q}{#f}", "s?q=1#2", { q: "1", f: "2" }],
    // prefixes
    ["{v:3}", "abc", { v: "abc" }],
    ["{v:3}", "abcd", undefined],
    ["{v:3}{w}", "abcde", { v: "abc", w: "de" }],
    ["{v:2}{w}", "%E2%82%AC%20x", { v: "€ ", w: "x" }],
    ["s{?v:3}", "s?v=abcd", undefined],
    ["f{/v:1,v}", "f/v/value", { v: "value" }],
    ["f{/v:1,v}", "f/w/value", undefined]
  ]
  // Values that climb or cross segments, in every spelling; the rest of the segment makes no difference.
  const climbing = [
    ".",
    "..",
    "%2e",
    "%2E%2e",
    ".%2E",
    "..%2F..%2Fetc",
    "a%2Fb",
    "%2Fetc",
    "..%5Cwin",
    "a\\b",
    "a%00",
    "%00"
  ]
  for (const text of climbing) {
    it(`UriTemplate.match confines ${text} to one segment unless the variable is unconfined`, () => {
      const value = decodeURIComponent(text)
      for (const source of ["d/{v}", "d/{v}/x", "d{/v}", "d/a{.v}", "d{;v}", "d/{w}/{v}"]) {
        const uri = UriTemplate.expand(template(source), { v: "VALUE", w: "w" }).replace("VALUE", text)
        assert.isUndefined(match(source, uri), uri)
        assert.strictEqual(UriTemplate.match(template(source), uri, { unconfined: ["v"] })?.["v"], value, uri)
        assert.isUndefined(UriTemplate.match(template(source), uri, { unconfined: ["w"] }), uri)
        assert.isFalse(UriTemplate.admits(template(source), "v", value))
        assert.isTrue(UriTemplate.admits(template(source), "v", value, { unconfined: ["v"] }))
      }
      for (const source of ["d/{v*}", "d{/v*}", "d{/w,v}"]) {
        const uri = `d/ok${source.startsWith("d/") ? "," : "/"}${text}`
        assert.isUndefined(match(source, uri), uri)
      }
      for (const source of ["d/{+v}", "d{#v}", "d{?v}", "d?{&v}"]) {
        const uri = UriTemplate.expand(template(source), { v: "VALUE" }).replace("VALUE", text)
        assert.strictEqual(match(source, uri)?.["v"], value, uri)
        assert.isTrue(UriTemplate.admits(template(source), "v", value))
      }
    })
  }

  it("UriTemplate.match accepts values that only resemble path traversal", () => {
    for (const text of ["...", "..a", "a..", ".env", "..%252F", "%EF%BC%8F", "a:b", "~"]) {
      assert.deepStrictEqual(match("d/{v}", `d/${text}`), { v: decodeURIComponent(text) })
    }
  })

  for (const [source, uri, bindings] of cases) {
    it(`UriTemplate.match ${bindings === undefined ? "rejects" : "reads"} ${JSON.stringify(uri)} with ${JSON.stringify(source)}`, () => {
      assert.deepStrictEqual(match(source, uri), bindings)
    })
  }

  it("UriTemplate accepts templates and URIs up to their maximum length", () => {
    assert.isTrue(Result.isSuccess(UriTemplate.parse("a".repeat(UriTemplate.maxTemplateLength))))
    assert.isTrue(Result.isFailure(UriTemplate.parse("a".repeat(UriTemplate.maxTemplateLength + 1))))
    const longest = "a".repeat(UriTemplate.maxUriLength)
    assert.deepStrictEqual(match("{a}", longest), { a: longest })
  })

  it("UriTemplate.match applies a prefix to its own variable in a list", () => {
    assert.deepStrictEqual(match("{a:3,b}", "abc,defgh"), { a: "abc", b: "defgh" })
  })

  it("UriTemplate.admits confines only the variable with that name", () => {
    assert.isFalse(UriTemplate.admits(template("{a,v}"), "v", "x/y"))
    assert.isTrue(UriTemplate.admits(template("{a}"), "v", "x/y"))
  })

  it("UriTemplate.expand encodes a percent sign that starts no escape sequence", () => {
    assert.strictEqual(UriTemplate.expand(template("{+v}"), { v: "%4z%41" }), "%254z%41")
  })

  it("UriTemplate.match takes less than cubic time for hostile templates and URIs", () => {
    const long = "a".repeat(UriTemplate.maxUriLength - 1)
    assert.isUndefined(match("{a}{b}{c}{d}{e}{f}{g}{h}!", long))
    assert.isUndefined(match("{+a}/{+b}/{+c}/{+d}/x", "/".repeat(60_000)))
    assert.isUndefined(match("{a:9999}{b:9999}{c:9999}!", long))
    assert.isUndefined(match("{;x*}!", ";x".repeat(30_000)))
    assert.isUndefined(match("s{?a,b,c}", `s?${"a=&".repeat(20_000)}`))
    assert.deepStrictEqual(match("s{?a*}", `s?${"a=&".repeat(20_000)}`), {
      a: Array.from({ length: 20_000 }, () => "")
    })
    assert.isUndefined(match("{a}", "%".repeat(60_000)))
    assert.isUndefined(match("{a}", "a".repeat(UriTemplate.maxUriLength + 1)))
  })

  const Text = Arbitrary.schema(Schema.NonEmptyString.check(Schema.isMaxLength(8))).pipe(
    Arbitrary.map((text) => text.toWellFormed())
  )
  const Texts = Arbitrary.array(Text, { minLength: 1, maxLength: 4 })

  it.prop(
    "UriTemplate.match reads back expanded values if the template is unambiguous",
    {
      parts: shape(["simple", "list", "segments", "label", "parameters"]),
      tail: shape(["query", "reserved"]),
      text: Text,
      texts: Texts,
      plain: Text
    },
    ({ parts, plain, tail, text, texts }) => {
      const bindings: Record<string, string | ReadonlyArray<string>> = {}
      const name = (value: string | ReadonlyArray<string>) => {
        const fresh = `v${Object.keys(bindings).length}`
        bindings[fresh] = value
        return fresh
      }
      const sources = parts.map((part) => {
        switch (part) {
          case "simple":
            return `/s/{${name(text)}}`
          case "list":
            return `/l/{${name(texts)}*}`
          case "segments":
            return `/p{/${name(text)},${name(texts[0] ?? "")}}`
          case "label":
            return `/d{.${name(text.replaceAll(".", "-"))},${name(text)}}`
          default:
            return `/m{;${name(text)},${name(texts)}*}`
        }
      })
      // A reserved expansion keeps triplets and delimiters, so only values without them can be read back.
      if (tail.includes("reserved")) sources.push(`/r/{+${name(plain.replaceAll(/[%?]/g, "/"))}}`)
      if (tail.includes("query")) sources.push(`{?${name(text)},${name(texts)}*}`)
      const parsed = template(`test://host${sources.join("")}`)
      const anyValue = { unconfined: UriTemplate.variables(parsed) }
      assert.deepStrictEqual(UriTemplate.match(parsed, UriTemplate.expand(parsed, bindings), anyValue), bindings)
    },
    { arbitrary: { runs: 200, seed: 1 } }
  )

  it.prop(
    "UriTemplate.match never throws, and its bindings survive expansion",
    {
      tokens: Schema.Array(
        Schema.Literals(["a", "b", "=", "&", ";", "?", "/", ".", ",", "%41", "%2F", "%C3%A9", "%", "é"])
      ),
      source: Schema.Literals(["{a}{/b*}{?c,d*}", "{a:2}{b}{.c}", "{;a,b*}{c,d}", "{/a,b}{?a}", "{a*,b}{?c}{#d}"])
    },
    ({ source, tokens }) => {
      const parsed = template(source)
      const bindings = UriTemplate.match(parsed, tokens.join(""))
      if (bindings === undefined) return
      assert.deepStrictEqual(UriTemplate.match(parsed, UriTemplate.expand(parsed, bindings)), bindings)
    },
    { arbitrary: { runs: 500, seed: 1 } }
  )
})
