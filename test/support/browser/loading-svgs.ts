const root =
  'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9"';

// Contents of SVG documents that lead a browser to `url`, or try to: of the element, with the attribute or the text
// that does it.
const contents = (url: string) => [
  `<image href="${url}/image" width="9" height="9"/>`,
  `<image xlink:href="${url}/xlink" width="9" height="9"/>`,
  `<use href="${url}/use.svg#a"/>`,
  `<filter id="a"><feImage href="${url}/fe-image"/></filter><rect width="9" height="9" filter="url(#a)"/>`,
  `<script href="${url}/script"/>`,
  `<script>fetch("${url}/script-text")</script>`,
  `<foreignObject width="9" height="9"><img xmlns="http://www.w3.org/1999/xhtml" src="${url}/img"/></foreignObject>`,
  `<foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${url}/iframe"/></foreignObject>`,
  // HTML takes elements in these for its own, and `image` for `img`.
  `<title><image src="${url}/title" srcset="${url}/title-set"/></title>`,
  `<desc><image src="${url}/desc"/></desc>`,
  `<desc><style>@import url(${url}/desc-style)</style></desc>`,
  `<desc><svg><image href="${url}/desc-svg" width="9" height="9"/></svg></desc>`,
  `<p><image src="${url}/outside"/></p>`,
  `<font color="red"><image srcset="${url}/font 1x"/></font>`,
  `<style>@import url(${url}/import);</style>`,
  `<style><g/>@import url(${url}/after-child);</style>`,
  `<style>g{}<g>{}</g>@import "${url}/after-text";</style>`,
  `<style><![CDATA[@import "${url}/cdata";]]></style>`,
  `<style>&#64;import "${url}/entity";</style>`,
  `<style>@\\69mport "${url}/escape";</style>`,
  `<style>rect{mask:url(${url}/mask.svg#a)}</style><rect width="9" height="9"/>`,
  `<style>rect{mask:u\\72l(${url}/mask-escape.svg#a)}</style><rect width="9" height="9"/>`,
  `<style>rect{mask:url(/**/${url}/x)}rect{filter:url(' ${url}/filter.svg#a')}</style><rect width="9" height="9"/>`,
  `<style>svg{background:image-set("${url}/image-set" 1x)}</style>`,
  `<style>svg{background:-webkit-image-set(url(${url}/webkit-image-set) 1x)}</style>`,
  `<style>svg{background:cross-fade(url(${url}/cross-fade), url(#a), 50%)}</style>`,
  `<style>svg{--a:url(${url}/var);background:var(--a)}</style>`,
  `<style>svg{--a:"${url}/var-set";background:image-set(var(--a) 1x)}</style>`,
  `<style>svg{background:url(#a),url(${url}/second)}</style>`,
  `<style>@font-face{font-family:a;src:url(${url}/font)}text{font-family:a}</style><text>a</text>`,
  `<style>@font-face{font-family:a;src:local(b),url(${url}/font-2)}text{font-family:a}</style><text y="9">a</text>`,
  `<style>@media all{svg{background:url(${url}/media)}}</style>`,
  `<style>svg{cursor:url(${url}/cursor),auto;list-style:url(${url}/list)}</style>`,
  `<rect width="9" height="9" style="mask:url(${url}/style.svg#a)"/>`,
  `<rect width="9" height="9" mask="url(${url}/attribute.svg#a)"/>`,
  `<rect width="9" height="9" filter="url('${url}/filter-attribute.svg#a')"/>`,
  `<rect width="9" height="9" clip-path="url(&quot;${url}/clip.svg#a&quot;)"/>`,
  `<path d="M0 0L9 9" marker-start="url(${url}/marker.svg#a)"/>`,
  `<rect width="9" height="9" fill="url(${url}/fill.svg#a)"/>`,
  `<image width="9" height="9"><set attributeName="href" to="${url}/set"/></image>`,
  `<image width="9" height="9"><set attributeName="href " to="${url}/set-space"/></image>`,
  `<image width="9" height="9"><set attributeName="xlink:href" to="${url}/set-xlink"/></image>`,
  `<image width="9" height="9"><animate attributeName="&#10;href" values="${url}/animate" dur="1s"/></image>`,
  `<use><animate attributeName="href" from="${url}/from.svg#a" to="#b" dur="9s"/></use>`,
  `<rect width="9" height="9"><set attributeName="mask" to="url(${url}/set-mask.svg#a)"/></rect>`,
  `<rect width="9" height="9"><animate attributeName="filter" values="url(#a);url(${url}/values.svg#a)" dur="1ms" fill="freeze"/></rect>`,
  `<rect width="9" height="9"><set attributeName="style" to="mask:url(${url}/set-style.svg#a)"/></rect>`,
  `<image xml:base="${url}/" href="base" width="9" height="9"/>`,
  `<image href="data:image/svg+xml,${encodeURIComponent(`<svg ${root}><image href="${url}/inner"/></svg>`)}" width="9" height="9"/>`,
  `<rect width="9" height="9" mask='url("data:image/svg+xml,${encodeURIComponent(
    `<svg ${root}><mask id="a"><image href="${url}/inner-mask" width="9" height="9"/></mask></svg>`,
  )}#a")'/>`,
  `<use href="data:image/svg+xml,${encodeURIComponent(`<svg ${root}><image id="a" href="${url}/inner-use"/></svg>`)}#a"/>`,
  `<a href="${url}/a"><rect width="9" height="9"/></a>`,
  `<g onclick="1" onload="fetch('${url}/handler')"/>`,
  `<set attributeName="x" onbegin="fetch('${url}/begin')"/>`,
  `<link xmlns="http://www.w3.org/1999/xhtml" rel="stylesheet" href="${url}/link"/>`,
  `<h:img xmlns:h="http://www.w3.org/1999/xhtml" src="${url}/prefix"/>`,
  `<s:image xmlns:s="http://www.w3.org/2000/svg" href="${url}/svg-prefix" width="9" height="9"/>`,
  `<video xmlns="http://www.w3.org/1999/xhtml" src="${url}/video" poster="${url}/poster"/>`,
  `<math><mtext><image src="${url}/math"/></mtext></math>`,
];

/**
 * SVG documents that lead a browser to `url`, or try to: by elements, attributes, styles, animations, or parts that
 * HTML reads otherwise.
 */
export const loadingSvgs = (url: string): string[] => [
  ...contents(url).map((content) => `<svg ${root}>${content}</svg>`),
  `<?xml-stylesheet href="${url}/instruction"?><svg ${root}/>`,
  `<!DOCTYPE svg [<!ENTITY a "${url}/own-entity">]><svg ${root}><image href="&a;" width="9" height="9"/></svg>`,
  `<!DOCTYPE svg SYSTEM "${url}/dtd"><svg ${root}/>`,
  `<!DOCTYPE svg [<!ENTITY a SYSTEM "${url}/external">]><svg ${root}><text>&a;</text></svg>`,
  `<svg ${root} onload="fetch('${url}/root')"/>`,
  `<svg ${root} style="background:url(${url}/root-style)"/>`,
  `<svg><image src="${url}/after" href="${url}/untidy" width=9 height=9></svg><img src="${url}/sibling">`,
];

/**
 * SVG documents that browsers draw, within pages at least, although they are no well-formed XML or name no namespace.
 */
export const untidySvgs: readonly string[] = [
  '<svg width="9" height="9"><rect width="9" height="9" fill="red"/></svg>',
  `<svg ${root}><rect width=9 height=9 fill=red></svg>`,
  `<svg ${root}><g><rect width="9" height="9" fill="red"></g></b>`,
  '<SVG WIDTH="9" HEIGHT="9" VIEWBOX="0 0 3 3"><RECT WIDTH="3" HEIGHT="2" FILL="red"/></SVG>',
  '<svg width="9" height="9"><defs><rect id="a" width="9" height="5" fill="red"/></defs><use xlink:href="#a"/></svg>',
  '<svg width="9" height="9"><lineargradient id="a"><stop stop-color="red"/><stop offset="1"/></lineargradient><path d="M0 0H9V9z" fill="url(#a)"/></svg>',
  `<svg ${root}><text y="9" fill="red">a&nbsp;&eacute; & b</text></svg>`,
  `<svg ${root}><style>rect{fill:red}/* a & b */</style><rect width="9" height="9" width="2"/></svg>`,
  `<!-- a -- b --><svg ${root}><!-- -- --><rect width="9" height="7" fill="red"/></svg><svg/>`,
  `<svg ${root}><title>a</title><style><![CDATA[g>rect{fill:red}]]></style><g><rect width="9" height="8"/></g></svg>`,
];
