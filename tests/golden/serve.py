import http.server
TOP=["rivers","bridges","lamps","orchards","clocks","maps","ferries","wells"]
def art(t,i,extra=""):
    s=[]
    for k in range(6):
        s.append(f"<p>The history of {t} in the valley has {i+2} chapters, and chapter {k+1} tells how people who lived near the {t} learned to look after them, why they wrote about the {t} in letters, and what the town council of that year decided about the {t} when {['spring','summer','autumn','winter','harvest','market'][k]} came with {['rain','wind','snow','dust','fog','frost'][(k+i)%6]}.</p>")
    return f"<html lang=en><head><title>On {t}</title></head><body><nav><a href=/>Home</a></nav><main><h1>On {t}</h1>{''.join(s)}{extra}</main><p><a href=/print/{i}>print</a> <a href=/a/{(i+1)%8}>next</a> <a href='/a/{i}?sid=abc{i}'>again</a></p></body></html>"
zh="<html lang=zh><head><title>山谷的桥</title></head><body><main><h1>山谷的桥</h1>"+"".join(f"<p>这座山谷里有很多老桥，第{n}座桥是村里的石匠在冬天修好的，他们把石头从河边搬到路上，然后一块一块地垒起来，后来的人都说这座桥很结实。</p>" for n in "一二三四五六")+"</main></body></html>"
twin="<html lang=en><head><title>Notes</title></head><body><main><h1>Notes</h1><p>These notes were written by the keeper of the archive, who had a habit of hiding one word that nobody else could read in the middle of each page, and here that word is jdkhlcfllcbaloji, which is all that we know of it today.</p></main></body></html>"
P={"/":"<html><head><title>The valley</title></head><body><h1>The valley</h1><p>All that is known of the valley, its works and its people, in eight articles and some notes that were found later.</p>"+"".join(f"<a href=/a/{i}>{t}</a> " for i,t in enumerate(TOP))+"<a href=/zh>zh</a> <a href=/notes>notes</a> <a href=/gone>gone</a> <a href=/moved>moved</a></body></html>","/zh":zh,"/notes":twin}
for i,t in enumerate(TOP):
    P[f"/a/{i}"]=art(t,i); P[f"/print/{i}"]=art(t,i).replace("<nav><a href=/>Home</a></nav>","")
    if i%2==0: P[f"/print/{i}"]=P[f"/print/{i}"].replace("and what the town council of that year decided","and which the town council of that year chose",1)
class H(http.server.BaseHTTPRequestHandler):
    protocol_version="HTTP/1.1"
    def do_GET(self):
        p=self.path.split("?")[0]
        if p=="/moved": self.send_response(301); self.send_header("Location","/a/0"); self.send_header("Content-Length","0"); self.end_headers(); return
        b=P.get(p)
        code=200 if b else 404
        b=(b or "<p>not found</p>").encode()
        self.send_response(code); self.send_header("Content-Type","text/html; charset=utf-8"); self.send_header("Content-Length",str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self,*a): pass
if __name__=="__main__":
    http.server.ThreadingHTTPServer(("127.77.3.9",18473),H).serve_forever()
