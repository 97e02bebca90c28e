# Puts the bitcode that IMAGE was made of where the stand-in looks for it: FOLDER/<sha256 of the image>.bc.
file(SHA256 ${IMAGE} hash)
configure_file(${BITCODE} ${FOLDER}/${hash}.bc COPYONLY)
