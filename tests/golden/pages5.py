"""Writes docs.jsonl and later.jsonl of format-5.tar.gz: a page in each of nine languages, and later versions of them."""
import json

TEXTS = {
    "en": ("The ferry at dawn", "The ferryman was the first to rise, and he walked down to the water before it was light. He looked at the sky for a while and then at the rope, because it had been wet all night and he did not trust it. When the baker came with her baskets, she asked him whether the river would rise again. He said that he did not know, but that the birds had been flying low since the evening. They waited for the others and did not speak until the bell of the school was heard on the other side."),
    "de": ("Die Fähre am Morgen", "Der Fährmann stand als erster auf und ging zum Wasser hinunter, bevor es hell wurde. Er sah eine Weile in den Himmel und dann auf das Seil, denn es war die ganze Nacht nass gewesen und er traute ihm nicht. Als die Bäckerin mit ihren Körben kam, fragte sie ihn, ob der Fluss wieder steigen würde. Er sagte, dass er es nicht wisse, aber die Vögel seien seit dem Abend tief geflogen. Sie warteten auf die anderen und sprachen nicht, bis man die Glocke der Schule auf der anderen Seite hörte."),
    "zh": ("清晨的渡船", "船夫总是第一个起床，天还没有亮，他就走到河边去了。他先看了一会儿天空，然后又看了看绳子，因为绳子整夜都是湿的，他不太放心。面包师带着篮子来的时候，问他河水是不是还会上涨。他说他也不知道，不过从昨天晚上开始，鸟就飞得很低。他们等着其他的人，谁也没有说话，一直等到对岸学校的钟声响起来。"),
    "lt": ("Keltas auštant", "Keltininkas visada atsikeldavo pirmas ir nueidavo prie vandens, kol dar buvo tamsu. Jis kurį laiką žiūrėjo į dangų, o paskui į virvę, nes ji visą naktį buvo šlapia ir jis ja nepasitikėjo. Kai kepėja atėjo su savo krepšiais, ji paklausė jo, ar upė vėl pakils. Jis atsakė, kad to nežino, bet nuo vakaro paukščiai skraidė labai žemai. Jie laukė kitų ir nekalbėjo, kol kitoje pusėje pasigirdo mokyklos varpas, o tada visi kartu sulipo į keltą."),
    "sr": ("Skela u zoru", "Skeladžija je uvek ustajao prvi i silazio do vode pre nego što svane. Gledao je neko vreme u nebo, a onda u uže, jer je ono celu noć bilo mokro i on mu nije verovao. Kada je pekarka došla sa svojim korpama, pitala ga je da li će reka opet porasti. Rekao je da ne zna, ali da ptice još od večeri lete veoma nisko. Čekali su druge i nisu govorili sve dok se sa druge strane nije čulo zvono škole, a onda su svi zajedno ušli u skelu."),
    "is": ("Ferjan í dögun", "Ferjumaðurinn fór alltaf fyrstur á fætur og gekk niður að vatninu áður en það varð bjart. Hann horfði um stund til himins og svo á reipið, því að það hafði verið blautt alla nóttina og hann treysti því ekki. Þegar bakarinn kom með körfurnar sínar spurði hún hann hvort áin myndi hækka aftur. Hann sagði að hann vissi það ekki en að fuglarnir hefðu flogið lágt frá því um kvöldið. Þau biðu eftir hinum og töluðu ekki fyrr en klukka skólans heyrðist hinum megin við ána."),
    "ko": ("새벽의 나룻배", "뱃사공은 언제나 가장 먼저 일어나서 날이 밝기 전에 강가로 내려갔다. 그는 한참 동안 하늘을 보고 그리고 밧줄을 보았다. 밧줄이 밤새 젖어 있었기 때문에 그는 그것을 믿을 수 없었다. 빵집 주인이 바구니를 들고 왔을 때 그녀는 강물이 다시 불어날 것인지 물었다. 그는 모른다고 했지만 저녁부터 새들이 매우 낮게 날고 있다고 말했다. 그들은 다른 사람들을 기다리며 아무 말도 하지 않았고, 건너편에서 학교 종소리가 들릴 때 모두 함께 배에 올랐다."),
    "th": ("เรือข้ามฟากยามเช้า", "คนแจวเรือตื่นก่อนทุกคนเสมอและเดินลงไปที่ริมน้ำก่อนที่ฟ้าจะสว่าง เขามองท้องฟ้าอยู่ครู่หนึ่งแล้วจึงมองเชือก เพราะเชือกเปียกมาตลอดทั้งคืนและเขาไม่ไว้ใจมัน เมื่อคนทำขนมปังมาพร้อมกับตะกร้าของเธอ เธอถามเขาว่าแม่น้ำจะขึ้นอีกหรือไม่ เขาตอบว่าเขาไม่รู้ แต่นกบินต่ำมาตั้งแต่เมื่อเย็น พวกเขารอคนอื่นและไม่ได้พูดอะไรกันจนได้ยินเสียงระฆังของโรงเรียนจากอีกฝั่งหนึ่ง"),
    "ta": ("விடியலில் படகு", "படகோட்டி எப்போதும் முதலில் எழுந்து விடியும் முன் ஆற்றங்கரைக்குச் சென்றார். அவர் சிறிது நேரம் வானத்தைப் பார்த்தார், பின்னர் கயிற்றைப் பார்த்தார், ஏனென்றால் அது இரவு முழுவதும் நனைந்து இருந்தது. ரொட்டி செய்யும் பெண் தன் கூடைகளுடன் வந்தபோது ஆறு மீண்டும் உயருமா என்று கேட்டாள். அவருக்குத் தெரியாது, ஆனால் மாலையில் இருந்து பறவைகள் தாழ்வாகப் பறக்கின்றன என்று அவர் கூறினார். அவர்கள் மற்றவர்களுக்காகக் காத்திருந்தார்கள், மறுகரையில் பள்ளி மணி ஒலிக்கும் வரை எதுவும் பேசவில்லை."),
}

def page(language, title, text):
    return f"<!DOCTYPE html><html lang={language}><head><meta charset=utf-8><title>{title}</title></head><body><nav><a href=/>1</a> <a href=/2>2</a></nav><main><h1>{title}</h1><p>{text}</p></main></body></html>"

with open("docs.jsonl", "w", encoding="utf-8") as docs, open("later.jsonl", "w", encoding="utf-8") as later:
    for language, (title, text) in TEXTS.items():
        def line(out, name, title, text):
            url = f"http://{name.split('-')[0]}.example/{language}/{name}"
            print(json.dumps({"id": f"{language}/{name}", "url": url, "html": page(language, title, text)}, ensure_ascii=False), file=out)
        line(docs, "first", title, text)
        half = text[: len(text) * 7 // 10]
        line(later, "first-again", title, text)
        line(later, "first-long", title, text + " " + text[: len(text) // 12])
        line(later, "other-half", title, half)
        line(later, "first-renamed", title + " 2", half)
