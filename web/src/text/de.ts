// All texts of the page in German; en.ts says which there are.

import { type PAGE as ENGLISH, type WORKER as ENGLISH_WORKER } from "./en.ts";

type Texts = typeof ENGLISH;
type WorkerTexts = typeof ENGLISH_WORKER;

const MARKUP: Texts["markup"] = {
  noScript: "Diese Seite entschlüsselt Video im Browser und braucht dafür JavaScript.",
  starting: "Die Seite beginnt. Bleibt diese Zeile stehen, ist der Browser zu alt oder hat das Programm nicht geladen.",
  whatToDo: "Was zu tun ist",
  watch: "Zuschauen",
  publish: "Senden",
  publishWhat: "von Kamera oder Bildschirm",
  notConnected: "Nicht verbunden",
  shortageTitle: "Hier kann diese Seite nicht arbeiten",
  threeWays: "Drei Wege hinein",
  wayLocal: "Auf dem Rechner, auf dem das Programm läuft, die Adresse unten öffnen. Ihrem eigenen Rechner vertrauen " +
    "Browser.",
  wayHttps: "Von einem anderen Rechner die Adresse unten öffnen und die Warnung vor dem Zertifikat übergehen. Das " +
    "Programm hat es selbst gemacht; wer am anderen Ende ist, sagt das Ticket, und das wird noch einmal geprüft.",
  wayName: "Dem Programm einen Namen geben und das Zertifikat einer Stelle, die der Browser kennt, und `https://` " +
    "mit diesem Namen öffnen. Dann gibt es keine Warnung.",
  ticket: "Ticket",
  relayAddress: "Adresse des Relays, dahinter ein Name für den Strom",
  whatDoYouWant: "Was möchten Sie tun?",
  choiceWatch: "*Zuschauen*: die Kamera des anderen Endes sehen",
  choicePublish: "*Senden*: meine Kamera oder meinen Bildschirm dem anderen Ende zeigen",
  choiceRelay: "*Über ein Relay senden*, an alle, denen ich ein Ticket gebe",
  goOn: "Weiter",
  relayHelp: "Ein Relay nimmt den Strom einmal und gibt ihn an beliebig viele weiter; es hat keinen Schlüssel und " +
    "sieht " +
    "kein Bild. Die Adresse ist die eines Relays für Media over QUIC, wer es auch betreibt, und endet mit einem " +
    "Namen, " +
    "den Sie wählen. Hat das Relay kein Zertifikat einer Stelle, steht hinter dem Namen `#sha256=` und dessen Hash.",
  relayTicket: "Danach zeigt diese Seite ein Ticket. Wer es bekommt, kann zuschauen, mit dieser Seite an jeder " +
    "Adresse oder mit dem Programm.",
  ticketHelp: "Ein Ticket ist eine Zeile, die mit `sealcast://` beginnt. Das Programm am anderen Ende schreibt sie, " +
    "wenn " +
    "es beginnt: Fragen Sie, wer es gestartet hat. Das Ticket sagt, wo und wer dieses Ende ist, und enthält meist " +
    "eine " +
    "Einladung, die einlässt, wer sie kennt. Nehmen Sie es also nur auf einem Weg, dem Sie vertrauen, und geben Sie " +
    "es niemandem weiter.",
  ticketStays: "Es bleibt in dieser Seite. Es wird weder an den Server gesandt noch mit seiner Einladung " +
    "gespeichert, und eine Adresse mit Ticket wird sofort gekürzt.",
  publishTitle: "Von meiner Kamera oder meinem Bildschirm senden",
  picture: "Bild",
  source: "Quelle",
  backCamera: "Kamera hinten",
  whichCamera: "Welche Kamera",
  moreSettings: "Weitere Einstellungen",
  screen: "Bildschirm oder Fenster",
  size: "Größe",
  rate: "Bilder in der Sekunde",
  codec: "Codec",
  bitRate: "Bitrate",
  jpegQuality: "JPEG-Qualität",
  sound: "Ton",
  send: "Senden",
  soundNone: "keinen Ton",
  soundMicrophone: "den eines Mikrofons",
  soundScreen: "den des Bildschirms",
  microphone: "Mikrofon",
  treatedAs: "Behandelt als",
  speech: "Sprache: ein Kanal",
  stereo: "Stereo, unverändert",
  microphoneNote: "Das Mikrofon ist nur offen, solange sein Ton gesendet wird: Stummschalten schließt es.",
  screenNote: "Nicht jeder Browser und jedes System gibt den Ton des Bildschirms her. Wo es geht, hat die Frage des " +
    "Browsers einen Schalter dafür.",
  mechanism: "Schlüsselverfahren",
  suite: "Chiffre",
  whatIsEncrypted: "Was verschlüsselt wird",
  newKeysEvery: "Neue Schlüssel alle",
  carrier: "Träger",
  carrierBetter: "der bessere, der geht",
  relayNote: "Alles wird einmal für alle Zuschauer verschlüsselt, und jedes Bild wird signiert.",
  uses: "Zuschauer, die das Ticket einlässt",
  allCameras: "Alle Kameras",
  chooseCamera: "Wählen Sie eine Kamera, um sie groß zu sehen, sie zu hören, und zu sehen, wer sendet und wie das " +
    "geschützt ist.",
  addCamera: "Kamera hinzufügen",
  again: "Neu verbinden",
  otherTicket: "Anderes Ticket",
  forget: "Diese Kamera vergessen",
  mayBeOld: "Dieses Bild kann alt sein",
  controls: "Bedienung",
  playSound: "Ton an",
  fullScreen: "Ganzer Bildschirm",
  fullScreenHint: "Doppelklick auf das Bild, oder F",
  save: "Bild speichern",
  zoom: "Ausschnitt",
  smaller: "Kleiner",
  larger: "Größer",
  sendSound: "Ton senden",
  soundLevel: "Pegel des gesendeten Tons in Dezibel",
  stop: "Beenden",
  whoThisIs: "Wer das ist",
  whoWatches: "Wer zuschaut",
  ticketForViewers: "Ticket für Zuschauer",
  copyTicket: "Ticket kopieren",
  details: "Einzelheiten",
  detailsWhat: "Einstellungen, Zahlen, Ereignisse",
  settings: "Einstellungen",
  holdBack: "Zurückhalten",
  encrypt: "Verschlüsseln",
  keyframe: "Schlüsselbild",
  keyframeHint: "Ein Bild, das keine früheren braucht",
  newKeys: "Neue Schlüssel",
  newKeysHint: "Jetzt andere Schlüssel vereinbaren",
  reconnect: "Neu verbinden",
  holdBackHelp: "Ein Bild, das einige Millisekunden zurückgehalten wird, kommt gleichmäßiger, und später.",
  carrierHelp: "Ein anderer Träger gilt ab der nächsten Verbindung.",
  whereTimeGoes: "Wo die Zeit bleibt",
  tableOfStages: "Tabelle der Abschnitte",
  stage: "Abschnitt",
  median: "Median",
  frames: "Bilder",
  compositor: "Dazu kommen bis zu 50 ms in Browser und Anzeige, die eine Seite nicht sieht.",
  whatStagesAre: "Was die Abschnitte sind",
  stream: "Strom",
  refusedRecords: "Abgewiesene Datensätze",
  none: "Keine.",
  lastMinute: "Die letzte Minute",
  mediansByStage: "Mediane der Abschnitte, ms",
  tableHasNewest: "Die Tabelle hat die neuesten dieser Werte als Zahlen.",
  events: "Ereignisse",
  whoServes: "Wer diese Seite liefert, liefert ihren Code: Vertrauen Sie ihr so weit wie dem, der das Programm an " +
    "dieser Adresse betreibt.",
  codeOfPage: "Code dieser Seite:",
  notComputedYet: "noch nicht berechnet",
  programPrints: "Das Programm schreibt dieselbe Zahl, wenn es beginnt.",
};

const NOTICES: Texts["notices"] = {
  connecting: { title: "Verbindung wird aufgebaut", words: "Das andere Ende wird gesucht." },
  handshake: { title: "Prüfen, wer es ist", words: "Beide Enden weisen sich aus und vereinbaren Schlüssel." },
  waiting: { title: "Warten auf das erste Bild", words: "Die Verbindung steht und ist geschützt." },
  tampered: {
    title: "Nichts Echtes kommt an",
    words: "Was ankommt, wurde unterwegs verändert oder wiederholt; es wird abgewiesen und gezählt. Es gibt kein " +
      "Bild von " +
      "jetzt. Versuchen Sie ein anderes Netz oder einen anderen Träger; bleibt es so, greift unterwegs jemand ein.",
  },
  lost: { title: "Verbindung verloren", words: "Es gibt kein Bild von jetzt. Die Seite versucht es von selbst " +
    "wieder." },
  silent: {
    title: "Kein neues Bild",
    words: "Das letzte wäre alt und wird deshalb nicht gezeigt. Die Seite wartet auf das nächste.",
  },
  away: { title: "Die Kamera ist aus", words: "Die Seite wartet, bis sie wieder da ist." },
  ended: { title: "Beendet", words: "Die Übertragung ist vorbei. Es gibt kein Bild von jetzt." },
  refused: { title: "Abgelehnt", words: "Es kam keine Verbindung zustande, und es gibt kein Bild." },
  removed: {
    title: "Ihr Zugang wurde beendet", words: "Um wieder zuzuschauen, bitten Sie um einen neuen Link.",
  },
  failed: { title: "Es geht nicht", words: "Es gibt kein Bild." },
};

const LIVE: Texts["live"] = {
  live: "Live",
  standsStill: "Das Bild steht",
  standsFor: (seconds) => `Dieses Bild ist ${seconds} s alt`,
  since: (title, moment) => `${title} seit ${moment}`,
  reason: (why, words) => `Der Grund: ${why}. ${words}`,
  cause: (cause) => `Ursache: ${cause}`,
  tapToWatch: "Zum Zuschauen tippen",
  noSave: "Das Bild konnte nicht gespeichert werden. Machen Sie ein Bildschirmfoto der Seite.",
  fullScreen: "Ganzer Bildschirm",
  leaveFullScreen: "Ganzen Bildschirm verlassen",
  itsPicture: "Das Bild des Senders, live",
  pictureOf: (camera) => `Das Bild von ${camera}, live`,
  cameraFile: "Kamera",
  stopped: "Sie haben es beendet.",
  left: "Die Seite wurde verlassen.",
  otherAddress: "Andere Adresse",
  publishInstead: "Stattdessen senden",
  watchInstead: "Stattdessen zuschauen",
  connectingAs: (viewer, camera) =>
    `Verbindung als ${viewer ? "Zuschauer" : "Sender"}${camera === "" ? "" : ` von ${camera}`}.`,
  relayTakes: "Das Relay nimmt die Bilder an",
  sessionStands: "Die Verbindung steht",
  brokeOff: "Der Teil der Seite, der entschlüsselt, brach ab. Verbinden Sie neu; geschieht es wieder, melden Sie es " +
    "bitte.",
  soundOn: "Ton an",
  soundOff: "Ton aus",
  soundBroken: "Der Browser ließ den Ton nicht beginnen. Drücken Sie noch einmal, oder sehen Sie nach, ob er ihn " +
    "abspielen darf.",
  times: (words, times) => `${words} (${times}-mal)`,
};

const ENTER: Texts["enter"] = {
  whichStream: "Welche Übertragung?",
  whichRelay: "Über welches Relay?",
  noTicket: "das ist kein Ticket",
  noRelay: "das ist keine Adresse eines Relays",
  beginsWith: "ein Ticket beginnt mit sealcast://",
  missing: (names) => `Es fehlt: ${names}.`,
  isMissing: "fehlt",
  tooOld: "Dieser Browser ist zu alt für die Seite, oder eine Einstellung hat einen Teil davon abgeschaltet.",
  insecure: "Browser geben diese Teile nur Seiten, deren Adresse sie vertrauen: https, oder http auf ihrem eigenen " +
    "Rechner.",
  secure: "sicherer Kontext (secure context)",
  secureContext: "die Adresse gilt als vertrauenswürdig",
  subtle: "Verschlüsselung",
  videoDecoder: "Video decodieren (WebCodecs)",
  worker: "ein zweiter Faden",
  offscreen: "Zeichnen in diesem Faden",
  notComputed: "nicht berechnet",
  newCode: (before) => `Dieser Code ist neu seit Ihrem letzten Besuch, da war es ${before}…; das Programm schreibt ` +
    "dieselbe Zahl, wenn es beginnt.",
  noBundle: "Der Server antwortete nicht, oder der Browser hat hier keine Hash-Funktion.",
};

const LOCK: Texts["lock"] = {
  notConnected: "Nicht verbunden",
  nothing: "nichts wird geschützt oder gezeigt",
  who: "Wer das ist",
  nobody: "Noch niemand: Es gibt keine Verbindung.",
  thisEnd: "Dieses Ende",
  ownName: "Diesen Namen sehen Zuschauer. Das Relay hat keinen Schlüssel: Jeder Zuschauer weist sich als einer aus, " +
    "den Ihr Ticket eingelassen hat, und bekommt seine Schlüssel von dieser Seite.",
  publisher: "Der Sender",
  viewer: "Der Zuschauer",
  proved: (viewer) => "Es hat bewiesen, dass es der ist, den das Ticket nennt. Um auch des Tickets sicher zu sein, " +
    `vergleichen Sie dies mit dem, was das Programm ${viewer ? "des Zuschauers" : "des Senders"} schrieb oder seine ` +
    "Seite zeigt.",
  hexadecimal: "hexadezimal", peerId: "Kennung", keys: "Schlüssel", suite: "Chiffre", epoch: "Epoche",
  encrypted: "verschlüsselt", groupEpoch: "Epoche der Gruppe", sealedFor: "verschlossen für",
  allViewers: "alle Zuschauer zugleich", signed: "signiert", relay: "Relay", carrier: "Träger", own: "dieses Ende",
  epochFor: (epoch, age) => `${epoch}, seit ${age}`,
  relayAs: (relay, name) => `${relay}, als ${name}`,
  endToEnd: "Durchgehend verschlüsselt",
  notEncrypted: "Nicht verschlüsselt",
  partly: "Zum Teil offen",
  hybrid: "hybrid, quantensicher",
  hybridMeans: "Wer den Strom aufzeichnet, müsste beide Teile brechen",
  postQuantum: "quantensicher",
  postQuantumMeans: "ohne klassischen Teil",
  classical: "klassisch",
  classicalMeans: "Ein Quantenrechner könnte eines Tages öffnen, was heute aufgezeichnet wird",
  unknownMeans: "diese Seite weiß nicht, wovor es schützt",
  nothingEncrypted: "Nichts ist verschlüsselt: Jeder auf dem Weg kann zuschauen. Das ist nur zum Studium.",
  partInClear: (known) =>
    `Ein Teil des Videos geht offen über das Netz (verschlüsselt: ${known}). Wer unterwegs mithört, ` +
    "sieht vielleicht, was es zeigt. Das ist nur zum Studium.",
  sealedForThis: "diese Seite allein",
  sealedForGroup: "eine Gruppe von Zuschauern zugleich; diese Seite gehört dazu",
  holdsThis: "Das Bild ist für diese Seite allein verschlossen.",
  holdsGroup: (signs) =>
    "Das Bild ist einmal für eine Gruppe von Zuschauern verschlossen; diese Seite gehört dazu. Die " +
    `Kamera signiert ${signs}.`,
  unsigned: "nichts: Niemand sonst hat den Schlüssel dieser Seite",
  webtransport: "WebTransport (QUIC)",
  websocket: "WebSocket (TCP)",
  relayWay: "ein Relay, das keinen Schlüssel hat (Media over QUIC über WebTransport)",
  relaySocket: "ein Relay, das keinen Schlüssel hat (Media over QUIC über einen WebSocket)",
};

const SELECTIONS: Texts["selections"] = {
  all: "alles",
  "level:4": "Stufe 4: alles",
  "level:3": "Stufe 3: Köpfe und Intra-Makroblöcke",
  "level:2": "Stufe 2: Köpfe und der Anfang von Intra-Bildern",
  "level:1": "Stufe 1: Köpfe",
  "rate:75": "75 % der Einheiten, zufällig",
  "rate:50": "50 % der Einheiten, zufällig",
  "rate:25": "25 % der Einheiten, zufällig",
  keyframes: "nur Schlüsselbilder",
  headers: "nur Köpfe",
  none: "nichts",
};

const SIGNS: Texts["signs"] = { off: "nichts", frame: "jedes Bild", both: "jedes Bild und jede Gruppe von Bildern" };
const SIGNED: Texts["signed"] = {
  off: "nichts",
  frame: "jedes Bild (Ed25519), geprüft, bevor es gezeigt wird",
  both: "jedes Bild (Ed25519), geprüft, bevor es gezeigt wird, und jede Gruppe von Bildern (ML-DSA-65), geprüft danach",
};

const ALARMS: Texts["alarms"] = {
  freeze: "Das Bild kann alt sein: Es kommt keines, das die Kamera signiert hat. Die Kamera steht, oder Bilder " +
    "werden unterwegs aufgehalten.",
  stale: "Das Bild kann alt sein: Bilder kommen, aber keines antwortet dieser Seite rechtzeitig. Sie sind verspätet " +
    "oder wiederholt, oder die Antworten gehen unterwegs verloren.",
};

const AGE: Texts["age"] = {
  newest: (atMost) => `Das neueste Bild ist ${atMost} alt.`,
  atMost: (milliseconds) => `höchstens ${milliseconds} ms`,
  notSaid: "Wie alt das Bild ist, hat die Kamera noch nicht gesagt.",
  unknownYet: "noch nicht bekannt",
  noSigned: "kann alt sein: kein signiertes Bild kommt",
  noAnswer: "kann alt sein: keine Antwort kommt",
  notSigned: "nicht bekannt: Bilder sind nicht signiert",
  unproven: "Bilder werden ohne den Beweis gezeigt, der auch vor Quantenrechnern hält: Die Signaturen ihrer Gruppen " +
    "kommen nicht. Die eigene Signatur jedes Bildes ist geprüft.",
};

const FIGURES: Texts["figures"] = {
  picture: "Bild", rate: "Rate", frames: "Bilder", bytes: "Bytes", roundTrip: "Umlauf", dropped: "ausgelassen",
  drawn: "gezeichnet", freezes: "Stillstände", decoder: "Decoder", inDecoder: "im Decoder", sound: "Ton",
  packets: "Pakete", packetsLeft: "ausgelassene Pakete", packetsLost: "verlorene Pakete", lips: "Lippen",
  soundWaits: "Ton wartet", silence: "Stille", forged: "gefälscht", age: "Alter", verified: "geprüft",
  unproven: "unbewiesen", group: "Gruppe", total: "gesamt",
  noneYet: "noch keines",
  perSecond: (pictures, bits) => `${pictures} Bilder/s, ${bits}`,
  keyframes: (frames, keyframes) => `${frames}, Schlüsselbilder: ${keyframes}`,
  froze: (times, seconds) => `${times}, zusammen ${seconds} s`,
  madeAnew: (times) => `, ${times}-mal neu begonnen`,
  sent: "gesendet", muted: "stumm",
  groupsForged: (count) => `Gruppen von Bildern: ${count}`,
  groupsProven: (frames, groups) => `${frames} Bilder, Gruppen von Bildern: ${groups}`,
  ofFrames: (count) => `${count} Bilder`,
  groupEpoch: (suite, epoch) => `${suite}, Epoche ${epoch}`,
  lastSecond: "in der letzten Sekunde",
  whenLast: "als zuletzt ein Bild da war",
  noTotal: "Die Summe ist erst bekannt, wenn die Uhren beider Enden verglichen sind.",
  medianNote: "Median vom Stempel der Quelle bis zur Zeichenfläche; um so viel können die Uhren beider Enden ihn " +
    "verfälschen.",
  lipsAfter: (size) => `Ton ${size} nach dem Bild`,
  lipsBefore: (size) => `Ton ${size} vor dem Bild`,
  soundStates: {
    off: "aus", on: "an", stalled: "an, aber die Ausgabe des Browsers nimmt keinen", unable: "von diesem Browser " +
      "nicht decodiert",
  },
  decoders: {
    "hardware-allowed": "nach Wahl des Browsers, auch in Hardware", software: "in Software", images: "Bilder, eines " +
      "nach dem anderen",
  },
  stages: {
    capture: "vom Stempel der Quelle, bis der Sender das Bild hat",
    encode: "vom Bild zum codierten Bild",
    queue: "Warten auf das Verschließen",
    seal: "Verschlüsseln und Authentisieren der Datensätze des Bildes",
    send: "Übergabe der Datensätze an das Netz",
    network: "bis das letzte Byte des Bildes da ist, mit dem Fehler der Uhren",
    open: "Prüfen und Entschlüsseln der Datensätze des Bildes",
    wait: "Warten auf den Decoder",
    decode: "vom codierten Bild zum Bild",
    draw: "bis das Bild auf der Zeichenfläche ist, die Zeit des Zurückhaltens eingeschlossen",
  },
  refused: {
    malformed: "malformed: gar kein Datensatz",
    cleartext: "cleartext: offen, obwohl er verschlüsselt sein muss",
    "outside-cell": "outside-cell: kam einzeln, obwohl das andere Ende Zellen sendet",
    "unknown-epoch": "unknown-epoch: unter Schlüsseln, die dieses Ende nicht hat",
    replay: "replay: kam schon, oder ist zu alt, um es zu wissen",
    tag: "tag: nicht echt",
  },
  refusedFrames: {
    unsigned: "unsigned: ein Bild ohne die Signatur der Kamera",
    malformed: "malformed: ein Bild mit einem Beweis anderer Form",
    stream: "stream: ein Bild eines anderen Stroms",
    epoch: "epoch: ein Bild unter Schlüsseln, die vorbei sind",
    records: "records: Datensätze eines Bildes kamen hinzu oder fehlen",
    digest: "digest: Datensätze eines Bildes sind nicht die, welche die Kamera signiert hat",
    order: "order: ein Bild wurde wiederholt oder verschoben",
    group: "group: ein Bild einer anderen Gruppe, oder deren Schlüsselbild ging verloren",
    signature: "signature: ein Bild, das die Kamera nicht signiert hat",
  },
  nothingMeasured: "Noch ist nichts gemessen.",
  chartEmpty: "Diagramm der letzten Minute: Noch ist nichts gemessen",
  chart: (parts) => `Flächen der Abschnitte übereinander, letzte Minute. Neueste Mediane in Millisekunden: ${parts}`,
  secondsBefore: "vor 60 s", halfMinute: "30 s", newest: "jetzt",
};

const PUBLISH: Texts["publish"] = {
  failed: "Das Senden konnte nicht beginnen. Laden Sie die Seite neu.",
  camera: "Kamera",
  frontCamera: "Kamera vorn",
  toViewer: (address, name) =>
    name === "" ? `An den Zuschauer bei ${address}.` : `An den Zuschauer bei ${address}, den das Ticket nennt: ${name}`,
  throughRelay: (host, name) =>
    `Über das Relay ${host}, als ${name}. Danach zeigt diese Seite ein Ticket für Zuschauer.`,
  noH264: "Dieser Browser codiert kein H.264 in dieser Größe.",
  noProcessor: "Dieser Browser kann nicht senden: Ihm fehlt MediaStreamTrackProcessor für Seiten. Chrome, Edge und " +
    "andere Browser aus Chromium haben ihn. Firefox und Safari können zuschauen.",
  systemsChoice: "nach Wahl des Systems",
  previews: { camera: "Das Bild Ihrer Kamera", screen: "Das Bild Ihres Bildschirms" },
  takenAway: { camera: "Die Kamera ist nicht mehr da.", screen: "Der Bildschirm wird nicht mehr geteilt." },
  notAllowed: {
    camera: "Die Kamera wurde nicht erlaubt. Drücken Sie noch einmal auf Senden, und erlauben Sie sie, wenn der " +
      "Browser fragt.",
    screen: "Der Bildschirm wurde nicht erlaubt. Drücken Sie noch einmal auf Senden, und erlauben Sie ihn, wenn der " +
      "Browser fragt.",
  },
  notFound: {
    camera: "Hier ist keine Kamera. Schließen Sie eine an, oder wählen Sie eine andere Quelle.",
    screen: "Hier ist kein Bildschirm. Wählen Sie eine andere Quelle.",
  },
  inUse: {
    camera: "Ein anderes Programm benutzt die Kamera. Beenden Sie es, und drücken Sie noch einmal auf Senden.",
    screen: "Ein anderes Programm benutzt den Bildschirm. Beenden Sie es, und drücken Sie noch einmal auf Senden.",
  },
  notOpened: {
    camera: "Die Kamera ließ sich nicht öffnen. Versuchen Sie eine andere Quelle oder Größe.",
    screen: "Der Bildschirm ließ sich nicht öffnen. Versuchen Sie eine andere Quelle oder Größe.",
  },
  noPicture: "Sie hat kein Bild. Wählen Sie eine andere Quelle.",
  noSoundEncoder: "Dieser Browser kann keinen Ton senden: Ihm fehlt der Encoder (WebCodecs hat hier keinen " +
    "AudioEncoder).",
  microphoneNotAllowed: "Das Mikrofon wurde nicht erlaubt. Erlauben Sie es, wenn der Browser fragt, oder senden Sie " +
    "ohne Ton.",
  microphoneNotFound: "Dieses Mikrofon ist nicht da. Schließen Sie eines an, wählen Sie ein anderes, oder senden Sie " +
    "ohne Ton.",
  microphoneInUse: "Ein anderes Programm benutzt das Mikrofon. Beenden Sie es, und versuchen Sie es noch einmal.",
  microphoneNotOpened: "Das Mikrofon ließ sich nicht öffnen. Wählen Sie ein anderes, oder senden Sie ohne Ton.",
  microphoneSilent: "Das Mikrofon gibt keinen Ton. Wählen Sie ein anderes.",
  soundOn: "Ton senden",
  soundOff: "Stumm",
  soundGone: "Der Ton ist zu Ende: Das Mikrofon ist nicht mehr da, oder der Bildschirm wird nicht mehr geteilt.",
  soundBroken: "Der Ton konnte nicht aufgenommen werden. Wählen Sie ein anderes Mikrofon.",
  noScreenSound: "Der Browser gab keinen Ton des Bildschirms, also wird keiner gesendet. Wo es geht, hat seine Frage " +
    "einen Schalter dafür: für einen Tab fast überall, für den ganzen Bildschirm in manchen Systemen.",
  watches: "schaut zu", joining: "verbindet sich", away: "ist eingetragen, und jetzt nicht da",
  watching: (watching) => watching === 0 ? "Jetzt schaut niemand zu." :
    watching === 1 ? "Jetzt schaut eine Person zu." : `Jetzt schauen ${watching} zu.`,
  othersMay: (others) => ` ${others} weitere können ohne neues Ticket wiederkommen.`,
  usedUp: "Die Einladung des Tickets ist verbraucht oder zurückgezogen: Sie lässt niemand Neuen ein. Für eine andere " +
    "senden Sie noch einmal.",
  stillAdmits: (left) => `Wer dieses Ticket hat, kann zuschauen: Es lässt noch ${left === 1 ? "einen Zuschauer" :
    `${left} Zuschauer`} ein. Geben Sie es auf einem Weg weiter, dem Sie vertrauen. ` +
    "Den Zugang dessen zu beenden, der es benutzt hat, zieht es zurück.",
  copy: "Ticket kopieren",
  copied: "Kopiert",
  selected: "Markiert: mit der Tastatur kopieren",
  endAccess: "Zugang beenden",
  endAccessOf: (name) => `Zugang von ${name} beenden`,
};

const WHY: Texts["why"] = {
  "it does not accept the publisher's login, or is not the camera that was expected":
    "sie nimmt die Anmeldung des Senders nicht an, oder ist nicht die erwartete Kamera",
  "it has no such stream": "sie hat diesen Strom nicht",
  "it cannot be reached": "sie ist nicht zu erreichen",
  "it failed": "sie ist ausgefallen",
};

export const PAGE: Texts = {
  language: "de", markup: MARKUP, notices: NOTICES, live: LIVE, enter: ENTER, lock: LOCK, selections: SELECTIONS,
  signs: SIGNS, signed: SIGNED, alarms: ALARMS, age: AGE, figures: FIGURES, publish: PUBLISH, why: WHY,
};

const WATCHING: WorkerTexts["watching"] = {
  invite: "Die Einladung dieses Links ist verbraucht, zurückgezogen oder abgelaufen, oder Ihr Zugang wurde beendet: " +
    "Bitten Sie um einen neuen Link.",
  silence: "Hier antwortet niemand mit dieser Kennung: Der Sender ist nicht da, oder der Link gehört zu einem " +
    "anderen. Versuchen Sie es später wieder, oder bitten Sie um einen neuen Link.",
  peer: "Wer hier antwortet, ist nicht der Sender dieses Links. Vertrauen Sie dieser Adresse nicht: Bitten Sie auf " +
    "einem Weg, dem Sie vertrauen, um einen neuen Link.",
  removed: "Der Sender hat Ihren Zugang beendet. Um wieder zuzuschauen, bitten Sie um einen neuen Link.",
  notAdmitted: "Der Sender lässt Sie nicht ein: Bitten Sie um einen neuen Link mit einer Einladung.",
  endOfStream: "Die Übertragung ist zu Ende.",
  tooManyViewers: "Alle Plätze sind besetzt: Versuchen Sie es wieder, wenn jemand gegangen ist.",
  goingAway: "Der Sender ist gegangen; vielleicht kommt er wieder.",
  tooSlow: "Diese Verbindung ist zu langsam für das Video; sie wird neu aufgebaut.",
  replaced: "Ein anderes Fenster oder Programm von Ihnen hat den Platz: Schließen Sie eines. Diese Seite versucht es " +
    "nach einer Minute wieder.",
  notOffered: "Was diese Seite möchte, gibt es dort nicht.",
  sourceFailed: "Die Kamera des Senders ist ausgefallen.",
  otherwise: (reason) => `Der Sender hat die Verbindung beendet (${reason}); sie wird neu aufgebaut.`,
  handshake: "Der Sender hat den Handschlag abgelehnt: Seine Einstellungen passen vielleicht nicht zu dieser Seite. " +
    "Fragen Sie ihn; sein Protokoll sagt, warum.",
  lost: "Die Verbindung ging verloren.",
  noServer: (why) => `Es gibt keine Verbindung zum Server dieser Seite (${why}). Prüfen Sie ihn und das Netz.`,
  browser: "Etwas in dieser Seite oder im Browser ist fehlgeschlagen: Laden Sie die Seite neu, oder nehmen Sie einen " +
    "anderen Browser.",
  said: (text) => `Er sagte: ${text}`,
  stopped: "Sie haben das Zuschauen beendet.",
  insecure: "Ein Browser entschlüsselt nur auf Seiten, die über https oder von diesem Rechner (127.0.0.1) kamen.",
  canvas: "Dieser Browser zeichnet nicht in einem Worker: Erneuern Sie ihn, oder nehmen Sie einen anderen.",
};

const PUBLISHING: WorkerTexts["publishing"] = {
  "end-of-stream": "Der Zuschauer hat die Verbindung beendet.",
  "not-authorised": "Der Zuschauer lässt Sie nicht ein: Die Einladung des Links ist verbraucht oder abgelaufen, oder " +
    "Ihr Zugang wurde beendet. Bitten Sie um einen neuen Link.",
  removed: "Der Zuschauer hat Ihren Zugang beendet. Um wieder zu senden, bitten Sie um einen neuen Link.",
  "too-many-viewers": "Der Zuschauer hat schon einen anderen Sender: Versuchen Sie es wieder, wenn der gegangen ist.",
  "going-away": "Der Zuschauer ist gegangen; vielleicht kommt er wieder.",
  "too-slow": "Diese Verbindung ist zu langsam für das Video; sie wird neu aufgebaut.",
  psk: "Die Einladung dieses Links ist verbraucht, zurückgezogen oder abgelaufen, oder Ihr Zugang wurde beendet: " +
    "Bitten Sie den Zuschauer um einen neuen Link.",
  silence: "Hier antwortet niemand mit dieser Kennung: Der Zuschauer ist nicht da, oder der Link gehört zu einem " +
    "anderen. Versuchen Sie es später wieder, oder bitten Sie um einen neuen Link.",
  peer: "Wer hier antwortet, ist nicht der Zuschauer dieses Links, und bekam kein Bild. Vertrauen Sie dieser Adresse " +
    "nicht: Bitten Sie auf einem Weg, dem Sie vertrauen, um einen neuen Link.",
  handshake: "Das andere Ende hat den Handschlag abgelehnt. Vielleicht sendet es selbst, und dieser Link ist zum " +
    "Zuschauen; oder seine Einstellungen passen nicht zu Ihren. Sein Protokoll sagt, warum.",
  role: "Auch das andere Ende sendet: Dieser Link ist zum Zuschauen.",
  stopped: "Sie haben das Senden beendet.",
  insecure: "Ein Browser verschlüsselt nur auf Seiten, die über https oder von diesem Rechner (127.0.0.1) kamen.",
};

const REASONS: WorkerTexts["reasons"] = {
  version: "Das andere Ende spricht eine andere Fassung des Protokolls; erneuern Sie das ältere.",
  role: "Beide Enden senden, oder beide schauen zu; es braucht eines von jedem.",
  storage: "Der Browser behält für diese Seite keine Kennung; erlauben Sie ihr, Daten zu speichern, oder verlassen " +
    "Sie das private Fenster.",
  "peer-lost": "Vom anderen Ende war zu lange nichts zu hören; die Verbindung wird neu aufgebaut.",
  "too-many-refusals": "Zu viele Datensätze nacheinander wurden abgewiesen: Der Strom wurde verändert. Die " +
    "Verbindung wird neu aufgebaut.",
  timeout: "Das andere Ende wurde nicht rechtzeitig fertig; versuchen Sie es noch einmal.",
};

export const WORKER: WorkerTexts = {
  watching: WATCHING, publishing: PUBLISHING, reasons: REASONS,
};
