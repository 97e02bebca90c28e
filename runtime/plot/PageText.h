//===- PageText.h - Style and script of the page of logs --------*- C++ -*-===//
#ifndef TESSERA_RUNTIME_PLOT_PAGETEXT_H
#define TESSERA_RUNTIME_PLOT_PAGETEXT_H

namespace tessera::plot {

/// Follows the system's light or dark colours, fits a phone and prints.
inline constexpr char pageStyle[] = R"css(
:root{color-scheme:light dark;--bg:#f7f8fa;--card:#fff;--fg:#1b1f27;--mute:#596173;--line:#d6dae3;--edge:#8b93a5;--soft:#eef0f5;
--a0:#2563eb;--a1:#c2410c;--a2:#15803d;--a3:#9333ea;--a4:#be123c;--a5:#0e7490;--a6:#a16207;--a7:#64748b}
@media (prefers-color-scheme:dark){:root{--bg:#12151b;--card:#1b1f28;--fg:#e8ebf2;--mute:#a3abbd;--line:#363d4c;--edge:#78829a;--soft:#242a35;
--a0:#60a5fa;--a1:#fb923c;--a2:#4ade80;--a3:#c084fc;--a4:#fb7185;--a5:#22d3ee;--a6:#facc15;--a7:#cbd5e1}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
main,header,footer{max-width:1500px;margin:0 auto;padding:0 clamp(14px,3vw,36px)}
header{padding-top:26px}
h1{font-size:26px;line-height:1.2;margin:0 0 12px}
h2{font-size:16px;margin:0 0 6px}
.mute{color:var(--mute)}
.panel{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 16px;margin:0 0 14px}
.cols{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,520px),1fr));gap:14px}
.cols .panel{margin:0}
.scroll{overflow-x:auto}
.a0{--c:var(--a0)}.a1{--c:var(--a1)}.a2{--c:var(--a2)}.a3{--c:var(--a3)}.a4{--c:var(--a4)}.a5{--c:var(--a5)}.a6{--c:var(--a6)}.a7{--c:var(--a7)}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{padding:5px 10px;text-align:right;border-top:1px solid var(--line);white-space:nowrap}
th{border-top:0;font-weight:650}
th:first-child,td:first-child{text-align:left;white-space:normal}
.key{display:inline-block;width:22px;height:4px;border-radius:2px;margin:0 9px 3px 0;background:var(--c)}
.key.again{background:repeating-linear-gradient(90deg,var(--c) 0 6px,transparent 6px 9px)}
svg{display:block;width:100%;height:auto}
svg .grid{stroke:var(--line);stroke-width:1}
svg .axis{stroke:var(--edge);stroke-width:1.2}
svg .tick{fill:var(--mute);font-size:12px}
svg .r{text-anchor:end}
svg .m{text-anchor:middle}
svg .line{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round}
svg .line.again{stroke-dasharray:7 3}
svg .line.dashed{stroke-dasharray:2 4;stroke-width:2.4;stroke-linecap:round}
svg circle{fill:var(--c)}
svg .at{stroke:var(--edge);stroke-dasharray:3 3}
.values{margin:4px 0 0;font-size:12.5px;font-variant-numeric:tabular-nums;min-height:1.5em}
.values b{color:var(--c);font-weight:650}
footer{margin:26px auto;color:var(--mute);font-size:13px}
@media print{:root{color-scheme:light;--bg:#fff;--card:#fff;--fg:#000;--mute:#444;--line:#bbb;--edge:#666;--soft:#f1f1f1;
--a0:#2563eb;--a1:#c2410c;--a2:#15803d;--a3:#9333ea;--a4:#be123c;--a5:#0e7490;--a6:#a16207;--a7:#64748b}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}.panel{break-inside:avoid}.values{display:none}}
)css";

/// Shows the values at the step under the pointer, in all charts at once.
inline constexpr char pageScript[] = R"js(
const charts=[...document.querySelectorAll("svg.chart")].map(svg=>{
  const [left,right,least,greatest]=svg.dataset.steps.split(" ").map(Number);
  const lines=svg.dataset.lines.trimEnd().split("\n").map(text=>{
    const [name,colour,...points]=text.split("\t");
    return {name,colour,points:points.map(p=>p.split(" ").map(Number))};
  });
  return {svg,left,right,least,greatest,lines,out:svg.nextElementSibling,at:svg.querySelector(".at")};
});
function nearest(points,step){
  let a=0,b=points.length-1;
  while(b-a>1){const m=(a+b)>>1;if(points[m][0]<=step)a=m;else b=m}
  return points[b]&&Math.abs(points[b][0]-step)<Math.abs(points[a][0]-step)?points[b]:points[a];
}
function show(step){
  for(const c of charts){
    const inside=step!==null&&step>=c.least&&step<=c.greatest;
    const x=inside?c.left+(step-c.least)/(c.greatest-c.least)*(c.right-c.left):-9;
    c.at.setAttribute("x1",x);c.at.setAttribute("x2",x);
    c.out.replaceChildren();
    if(!inside){c.out.textContent="\u00a0";continue}
    c.out.append("step "+Math.round(step));
    for(const line of c.lines){
      const p=nearest(line.points,step);if(!p)continue;
      const b=document.createElement("b");b.className="a"+line.colour;b.textContent=" \u00a0"+line.name+" ";
      c.out.append(b,String(p[1]));
    }
  }
}
for(const c of charts){
  c.svg.addEventListener("pointermove",e=>{
    const box=c.svg.getBoundingClientRect(),x=(e.clientX-box.left)/box.width*720;
    show(x<c.left||x>c.right?null:c.least+(x-c.left)/(c.right-c.left)*(c.greatest-c.least));
  });
  c.svg.addEventListener("pointerleave",()=>show(null));
}
)js";

} // namespace tessera::plot
#endif
